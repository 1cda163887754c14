-- extras: what few messages have. Most have none of it, so that the hash mostly does not exist, and a script that needs
-- to know asks once.
--
--   extras    id -> marks, then each tag behind a line feed
--   tag:TAG   the ids that have this tag, in the order of their bytes

local anyExtras
local function hasExtras()
  if anyExtras == nil then
    anyExtras = call('EXISTS', EXTRAS) == 1
  end
  return anyExtras
end

local function tagKey(tag)
  return PREFIX .. 'tag:' .. tag
end

-- `tags`: each behind a line feed. The index of a tag that is no sorted set any more is left alone.
local function setTags(id, tags)
  anyExtras = true
  call('HSET', EXTRAS, id, tags)
  for tag in string.gmatch(tags, '[^\n]+') do
    redis.pcall('ZADD', tagKey(tag), '0', id)
  end
end

-- A message that goes takes along what it has.
local function dropExtras(id, extras)
  call('HDEL', EXTRAS, id)
  for tag in string.gmatch(string.match(extras, '\n.*') or '', '[^\n]+') do
    redis.pcall('ZREM', tagKey(tag), id)
  end
end

local function forgetExtras(id)
  local extras = hasExtras() and call('HGET', EXTRAS, id)
  if extras then
    dropExtras(id, extras)
  end
end
