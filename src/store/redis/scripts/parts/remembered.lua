-- remembered: ids that stay taken after their message is done, and how it ended.
--
--   payload      id -> '=' until, dueAt, firstDueAt (0: as dueAt), attempts, producedAt (7 digits), priority, line feed, what the client remembers
--   remembered   id -> until
--
-- The id stays among the payloads, so that a put finds it taken without asking anything else. No other
-- payload begins with that mark. Some that are over leave with each that comes, and with the facts of workers.

local REMEMBERED = PREFIX .. 'remembered'
local REMEMBERED_BYTE = 61
local PRUNED_MAX = 100

local function isRemembered(value)
  return byte(value, 1) == REMEMBERED_BYTE
end

-- When it is over; long ago for what cannot be read.
local function untilOf(value)
  return tonumber(string.match(value, '^=(%d+) ')) or 0
end

local anyRemembered
local function hasRemembered()
  if anyRemembered == nil then
    anyRemembered = call('EXISTS', REMEMBERED) == 1
  end
  return anyRemembered
end

-- What is remembered of an id; nothing for a message that is there.
local function rememberedOf(id)
  local value = hasRemembered() and call('HGET', PAYLOAD, id)
  return value and isRemembered(value) and value
end

local function forgetRemembered(id)
  call('HDEL', PAYLOAD, id)
  call('ZREM', REMEMBERED, id)
end

local function pruneRemembered()
  local over = redis.pcall('ZRANGEBYSCORE', REMEMBERED, '-inf', string.format('%.3f', now), 'LIMIT', 0, PRUNED_MAX)
  for index = 1, over.err and 0 or #over do
    local value = call('HGET', PAYLOAD, over[index])
    if value and isRemembered(value) then
      call('HDEL', PAYLOAD, over[index])
    end
    call('ZREM', REMEMBERED, over[index])
  end
end
