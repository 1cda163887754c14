-- base: the keys by name, the one place that reads the clock, and writing in batches. Every script begins with it.
--
-- KEYS are the same twelve in every script, all in one slot by the hash tag of the queue:
--    1 sequence         STRING  the last number given away: produce order, topic numbers, lease tokens
--    2 delay_tasks:high ZSET    seq+id -> dueAt, for what waits with priority 0
--    3 delay_tasks      ZSET    the same with priority 1
--    4 delay_tasks:low  ZSET    the same with priority 2
--    5 pending          ZSET    (all 0) topic+priority+dueAt+seq+id, for what was due and passed over
--    6 payload          HASH    id -> seq+topic+tail; the tail is the client's and begins with the priority
--    7 leases           ZSET    id -> when the lease ends
--    8 running          HASH    id -> dueAt+attempt+seq+topic+priority+token
--    9 failures         HASH    id -> attempts+dueAt+reason+error, for what failed before
--   10 dead             ZSET    id -> when it died
--   11 topics           HASH    topic number -> waiting+running+dead+name
--   12 topic_numbers    HASH    name -> topic number
-- ARGV[1] is a now in milliseconds that only tests give; '' means the clock of this server.
-- ARGV[2] is the channel for wake-ups.
--
-- Numbers inside keys are six bytes, the greatest first, so that bytes sort as numbers do.

local call, sub, pack, unpackNumber = redis.call, string.sub, struct.pack, struct.unpack

local SEQUENCE, PENDING, PAYLOAD = KEYS[1], KEYS[5], KEYS[6]
local DELAYS = { ['0'] = KEYS[2], ['1'] = KEYS[3], ['2'] = KEYS[4] }
local LEASES, RUNNING, FAILURES, DEAD = KEYS[7], KEYS[8], KEYS[9], KEYS[10]
local TOPICS, TOPIC_NUMBERS = KEYS[11], KEYS[12]
local PRIORITIES = { '0', '1', '2' }

local NUMBER = '>I6'
-- What was passed over keeps its place in its delay set, this far below zero: still in order, and out of the way.
local ASIDE = 4503599627370496
-- Reading a body costs its length, so bodies are read a few at a time, and no call reads much more than this.
local READ_CHUNK = 50
local READ_BYTES_MAX = 4194304
-- Lua cannot spread more than about 8000 values into one command.
local SPREAD_MAX = 4000

local now
if ARGV[1] == '' then
  local time = call('TIME')
  now = time[1] * 1000 + time[2] / 1000
else
  now = tonumber(ARGV[1])
end

-- A delay ends at the first whole millisecond that is not too early; no delay at all is due in this one.
local function dueAfter(delayMs)
  if delayMs == 0 then
    return math.floor(now)
  end
  return math.ceil(now + delayMs)
end

local function number(value)
  return pack(NUMBER, value)
end

-- Numbers become text here once: Redis would print each argument that is a number with 17 digits, which is slow.
local function text(value)
  return string.format('%.0f', value)
end

local function batch(command, key)
  return { command = command, key = key, size = 0 }
end

local function add(to, first, second)
  local size = to.size + 1
  to[size] = first
  if second ~= nil then
    size = size + 1
    to[size] = second
  end
  to.size = size
end

-- Sends a batch, and keeps it for another command that wants the same.
local function sendAs(from, command, key)
  for first = 1, from.size, SPREAD_MAX do
    call(command, key, unpack(from, first, math.min(first + SPREAD_MAX - 1, from.size)))
  end
end

local function send(from)
  sendAs(from, from.command, from.key)
  from.size = 0
end

-- Reads the bodies of ids[from..to] into the same places of `values`, as far as the budget goes; `false` where there
-- is none. Returns the last place read.
local function readBodies(ids, from, to, values, budget)
  local bytes = budget.bytes
  local last = from - 1
  while last < to and bytes > 0 do
    local first = last + 1
    last = math.min(last + READ_CHUNK, to)
    local read = call('HMGET', PAYLOAD, unpack(ids, first, last))
    for index = 1, last - first + 1 do
      local value = read[index]
      values[first + index - 1] = value
      if value then
        bytes = bytes - #value
      end
    end
  end
  budget.bytes = bytes
  return last
end

-- A server at maxmemory refuses the first write of a script if that could need memory, and none after it. This one
-- needs none (no id is empty) and changes nothing: whoever calls it first may finish work on a full server.
local function writeEvenWhenFull()
  call('HDEL', RUNNING, '')
end
