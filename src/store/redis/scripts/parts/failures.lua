-- failures: what is known of a message that failed before. Most never do, so that the hash mostly does not exist.

local hasFailures = call('EXISTS', FAILURES) == 1

local FAILURE_FORMAT, FAILURE_HEAD = '>I4I4I6I6I4', 24
local PAD = string.rep('\0', FAILURE_HEAD)
local WHOLE_MAX = 281474976710655

local function whole(value)
  return value == value and math.max(0, math.min(math.floor(value), WHOLE_MAX)) or 0
end

-- Attempts, lapses, firstDueAt (0: as dueAt), dueAt of a dead one, reason, error. What was cut short reads as zeros.
local function readFailure(entry)
  if not entry then
    return 0, 0, 0, 0, '', ''
  end
  local attempts, lapses, firstDueAt, dueAt, size = struct.unpack(FAILURE_FORMAT, #entry < FAILURE_HEAD and entry .. PAD or entry)
  return attempts, lapses, firstDueAt, dueAt, sub(entry, FAILURE_HEAD + 1, FAILURE_HEAD + size), sub(entry, FAILURE_HEAD + size + 1)
end

local function failureOf(id)
  return readFailure(hasFailures and call('HGET', FAILURES, id))
end

local function writeFailure(id, attempts, lapses, firstDueAt, dueAt, reason, message)
  hasFailures = true
  local head = struct.pack(FAILURE_FORMAT, attempts, lapses, whole(firstDueAt), whole(dueAt), #reason)
  call('HSET', FAILURES, id, head .. reason .. message)
end

local function forget(id)
  if hasFailures then
    call('HDEL', FAILURES, id)
  end
end

local function countDied(line, by)
  local topic = topicOf(line)
  local count = redis.pcall('HINCRBY', DIED, topic, by)
  if type(count) ~= 'number' or count <= 0 then
    call('HDEL', DIED, topic)
  end
end
