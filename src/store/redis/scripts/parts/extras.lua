-- extras: what few messages have. Most have none of it, so that the hash mostly does not exist, and a script that needs
-- to know asks once.
--
--   extras    id -> marks, then each tag behind a line feed. Marks of a message that runs: 's' it has a successor, 'c' it is
--             to be cancelled
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

local function eachTag(tags, visit)
  for tag in string.gmatch(tags, '[^\n]+') do
    visit(tag)
  end
end

-- `tags`: each behind a line feed. The index of a tag that is no sorted set any more is left alone.
local function setTags(id, tags)
  anyExtras = true
  call('HSET', EXTRAS, id, tags)
  eachTag(tags, function(tag)
    redis.pcall('ZADD', tagKey(tag), '0', id)
  end)
end

local function extrasOf(id)
  return hasExtras() and call('HGET', EXTRAS, id) or ''
end

local function isMarked(extras, letter)
  local ends = string.find(extras, '\n', 1, true) or #extras + 1
  local at = string.find(extras, letter, 1, true)
  return at and at < ends
end

local function mark(id, letter)
  local extras = extrasOf(id)
  if not isMarked(extras, letter) then
    anyExtras = true
    call('HSET', EXTRAS, id, letter .. extras)
  end
end

local function unmark(id, letter)
  local extras = extrasOf(id)
  if isMarked(extras, letter) then
    local rest = string.gsub(extras, letter, '', 1)
    if rest == '' then
      call('HDEL', EXTRAS, id)
    else
      call('HSET', EXTRAS, id, rest)
    end
  end
end

local function ownTags(extras)
  return string.match(extras, '\n.*') or ''
end

-- A message that goes takes along what it has.
local function dropExtras(id, extras)
  call('HDEL', EXTRAS, id)
  eachTag(ownTags(extras), function(tag)
    redis.pcall('ZREM', tagKey(tag), id)
  end)
end

local function forgetExtras(id)
  local extras = hasExtras() and call('HGET', EXTRAS, id)
  if extras then
    dropExtras(id, extras)
  end
end
