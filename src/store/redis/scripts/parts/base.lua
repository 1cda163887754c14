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
--    8 running          HASH    id -> dueAt+attempt+topic+filling+token, the same for most messages of one claim
--    9 failures         HASH    id -> attempts+dueAt+reason+error, for what failed before
--   10 dead             ZSET    id -> when it died
--   11 topics           HASH    topic number -> waiting+running+dead+name
--   12 topic_numbers    HASH    name -> topic number
-- ARGV[1] is a now in milliseconds that only tests give; '' means the clock of this server.
-- ARGV[2] is the channel for wake-ups.
--
-- Numbers inside keys are eight digits of an alphabet in the order of its bytes, so that bytes sort as numbers do, and
-- a payload is text as a whole: it goes to the claimer as it is stored. Each string that a script makes is hashed, byte by
-- byte, and collected; the scripts that everything passes through make as few of them as they can.

local call, sub, pack = redis.call, string.sub, struct.pack

local SEQUENCE, PENDING, PAYLOAD = KEYS[1], KEYS[5], KEYS[6]
local DELAYS = { ['0'] = KEYS[2], ['1'] = KEYS[3], ['2'] = KEYS[4] }
local LEASES, RUNNING, FAILURES, DEAD = KEYS[7], KEYS[8], KEYS[9], KEYS[10]
local TOPICS, TOPIC_NUMBERS = KEYS[11], KEYS[12]
local PRIORITIES = { '0', '1', '2' }
-- Bytes that nobody of us wrote cost their own message and nothing else: a priority that is none is the middle one,
-- and what was cut short reads as zeros. A script that failed on them would keep everything else waiting.
setmetatable(DELAYS, {
  __index = function()
    return KEYS[3]
  end,
})

local PAD = string.rep('\0', 18)
local function unpackNumber(format, from)
  return struct.unpack(format, #from < #PAD and from .. PAD or from)
end

-- Where the parts of a payload begin; its stamp, seq+topic+priority, is what a message needs to wait again.
local SEQ_END, TOPIC_AT, TOPIC_END, TAIL_AT, STAMP_END = 8, 9, 16, 17, 17
-- Where the id begins in a member of a delay set.
local ID_AT = 9
-- A record of `running`: dueAt, attempt, topic, filling, token. The filling makes it longer than 64 bytes: a hash of
-- shorter ones Redis keeps as a list up to 512 entries, and searches that from its beginning for every entry.
local FILLING = string.rep(' ', 48)
local RECORD_TOPIC_AT, RECORD_TOPIC_END, TOKEN_AT = 11, 18, 67
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

local DIGITS = '-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz'
local BASE, DIGIT_COUNT = 64, 8

-- Numbers of one batch mostly differ in their last digit only.
local knownUpper, upperText
local function number(value)
  local last = value % BASE
  local upper = (value - last) / BASE
  if upper ~= knownUpper then
    knownUpper, upperText = upper, ''
    for _ = 2, DIGIT_COUNT do
      local digit = upper % BASE
      upperText = sub(DIGITS, digit + 1, digit + 1) .. upperText
      upper = (upper - digit) / BASE
    end
  end
  return upperText .. sub(DIGITS, last + 1, last + 1)
end

local function digitOf(byte)
  if byte >= 97 then
    return byte - 59
  elseif byte == 95 then
    return 37
  elseif byte >= 65 then
    return byte - 54
  end
  return byte >= 48 and byte - 47 or 0
end

local function numberIn(from, first)
  local value = 0
  for place = first, first + DIGIT_COUNT - 1 do
    value = value * BASE + digitOf(string.byte(from, place) or 0)
  end
  return value
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

-- Takes `count` new numbers, and returns the one before the first. A sequence that was evicted, deleted or overwritten
-- goes on at the time in milliseconds, beyond what was given before: a number given twice would make two topics one.
local function takeNumbers(count)
  local last = redis.pcall('INCRBY', SEQUENCE, count)
  if type(last) == 'number' then
    if last > count or (last == count and call('EXISTS', TOPICS, PAYLOAD) == 0) then
      return last - count
    end
  elseif string.match(call('GET', SEQUENCE) or '0', '^%d+$') then
    return call('INCRBY', SEQUENCE, count) - count -- Refused for another reason, which the caller is told.
  end
  last = math.floor(now)
  call('SET', SEQUENCE, text(last + count))
  return last
end

-- A server at maxmemory refuses the first write of a script if that could need memory, and none after it. This one
-- needs none (no id is empty) and changes nothing: whoever calls it first may finish work on a full server.
local function writeEvenWhenFull()
  call('HDEL', RUNNING, '')
end
