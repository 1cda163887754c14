-- successors: what replaces a message while it runs waits here, one for each id, and takes its place when that attempt ends.
-- Its tags lead to the message that it waits for. Uses extras and lines.
--
--   successors   id -> dueAt, length of the tags, the tags, the payload as it will be
--   succeeding   topic -> how many of its messages wait like this

local SUCCESSORS, SUCCEEDING = PREFIX .. 'successors', PREFIX .. 'succeeding'

-- dueAt as text, tags and payload of a record; what cannot be read is due now and has an empty payload.
local function readSuccessor(record)
  local due, size, at = string.match(record, '^(%d+) (%d+) ()')
  if not due then
    return '0', '', ''
  end
  return due, sub(record, at, at + tonumber(size) - 1), sub(record, at + tonumber(size))
end

local function countSucceeding(payload, by)
  local topic = topicOf((headOf(payload)))
  local count = redis.pcall('HINCRBY', SUCCEEDING, topic, by)
  if type(count) ~= 'number' or count <= 0 then
    call('HDEL', SUCCEEDING, topic)
  end
end

-- Each tag of a successor that the message it waits for does not have.
local function eachAddedTag(id, tags, visit)
  local own = ownTags(extrasOf(id)) .. '\n'
  eachTag(tags, function(tag)
    if not string.find(own, '\n' .. tag .. '\n', 1, true) then
      visit(tag)
    end
  end)
end

local function successorOf(id)
  return isMarked(extrasOf(id), 's') and call('HGET', SUCCESSORS, id)
end

-- It waits no longer. Returns what it was.
local function dropSuccessor(id)
  local record = successorOf(id)
  if not record then
    return nil
  end
  local _, tags, payload = readSuccessor(record)
  eachAddedTag(id, tags, function(tag)
    redis.pcall('ZREM', tagKey(tag), id)
  end)
  call('HDEL', SUCCESSORS, id)
  countSucceeding(payload, -1)
  unmark(id, 's')
  return record
end

local function keepSuccessor(id, dueAt, tags, payload)
  dropSuccessor(id)
  call('HSET', SUCCESSORS, id, text(dueAt) .. ' ' .. #tags .. ' ' .. tags .. payload)
  countSucceeding(payload, 1)
  mark(id, 's')
  eachAddedTag(id, tags, function(tag)
    redis.pcall('ZADD', tagKey(tag), '0', id)
  end)
end
