-- base: the keys by name, and the one place that reads the clock. Every script begins with it.
--
-- KEYS are the same thirteen in every script; after them come the lines and claims that the caller can name:
--    1 payload   HASH    id -> producedAt, priority, topic, policy, body: text as the client made it; or what is remembered
--                        of a message that is done: see `remembered`
--    2 heads     ZSET    line -> dueAt of its first message
--    3 lines     ZSET    (all 0) the lines that have a message, by name
--    4 claims    ZSET    claim -> when its lease ends
--    5 running   HASH    topic -> how many of its messages run
--    6 failures  HASH    id -> attempts, lapses, firstDueAt, dueAt, reason, error, for what failed before
--    7 dead      ZSET    id -> when it died
--    8 died      HASH    topic -> how many of its messages are dead
--    9 order     STRING  the greatest member of any line so far
--   10 workers   ZSET    owner -> when it was seen last
--   11 facts     HASH    owner -> since when, gone when, facts
--   12 extras    HASH    id -> what few messages have, such as tags: see `extras`
--   13 controls  HASH    topic -> its pause and its limits; '' is the whole queue: see `controls`
-- and by name
--      successors         HASH  id -> what takes the place of a message that runs: see `successors`
--      succeeding         HASH  topic -> how many of its messages are such
--      remembered         ZSET  id of a message that is done -> until when it is taken
--      line:TOPIC:P       ZSET  member -> dueAt, delayed and due alike, for priority P = 0 1 2; of messages with a key see `keyed`
--      claim:OWNER/TOKEN  HASH  id -> dueAt and its line, what one claim handed out: see `claims`
--      tag:TAG            ZSET  (all 0) the ids that have this tag
--      figures:MINUTE     HASH  topic -> what ended in that minute
--      watch              HASH  topic -> who is told of its head: see `watch`
--      looks:SET          ZSET  worker -> when it looks again: see `watch`
-- A line is found by the topic in a payload, and a claim by its entry in `claims`, so that not every key can be declared;
-- all of them have the queue's hash tag and are in its slot.
-- ARGV[1] is a now in milliseconds that only tests give; '' means the clock of this server.
-- ARGV[2] is the channel for wake-ups; in a cluster its name ends in 'swakeups', and only the master of the slot has it.
--
-- The member of a line is the id, or a stamp before it: see `order`.
-- Lua cannot spread more than about 8000 values into one command; a call has at most 1000 entries.
-- Each string that a script makes is hashed, byte by byte, and collected; the scripts that everything passes through
-- make as few of them as they can.

local call, sub, byte = redis.call, string.sub, string.byte

local PAYLOAD, HEADS, LINES, CLAIMS, RUNNING, FAILURES = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local DEAD, DIED, ORDER, WORKERS, FACTS, EXTRAS = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11], KEYS[12]
local CONTROLS = KEYS[13]
local PLACES_AT = 14
local PREFIX = sub(PAYLOAD, 1, -8)
local LINE_PREFIX, CLAIM_PREFIX = PREFIX .. 'line:', PREFIX .. 'claim:'
local PUBLISH = sub(ARGV[2], -8) == 'swakeups' and 'SPUBLISH' or 'PUBLISH'
local NUMSUB = PUBLISH == 'SPUBLISH' and 'SHARDNUMSUB' or 'NUMSUB'

-- A stamped member is the stamp, this mark and the id; a stamped payload begins with the mark and the stamp.
local MARK, MARK_BYTE, STAMP_LENGTH, ID_AT = '~', 126, 9, 11
-- Reading a body costs its length, so bodies are read a few at a time, and no call reads much more than this.
local READ_CHUNK = 50
local READ_BYTES_MAX = 4194304
-- The last moment that a date can have, in milliseconds.
local MOMENT_MAX = 8640000000000000

-- Made by `keyed` where the first message with a key is met.
local keyed

local now
if ARGV[1] == '' then
  local time = call('TIME')
  now = time[1] * 1000 + time[2] / 1000
else
  now = tonumber(ARGV[1])
end

-- Numbers become text here once: Redis would print each argument that is a number with 17 digits, which is slow.
local function text(value)
  return string.format('%.0f', value)
end

-- A delay ends at the first whole millisecond that is not too early; no delay at all is due in this one. A moment is '@'
-- and its milliseconds. Nothing where the text is no number.
local function dueOf(moment)
  if byte(moment, 1) == 64 then
    local at = tonumber(sub(moment, 2))
    return at and at == at and math.max(1, math.min(at, MOMENT_MAX))
  end
  local delayMs = tonumber(moment)
  if not delayMs or delayMs ~= delayMs or delayMs > MOMENT_MAX then
    return nil
  end
  return delayMs == 0 and math.floor(now) or math.ceil(now + delayMs)
end

-- Where the key begins in the name of a line; nothing where its messages have none. No topic and no key has this character.
local function keyAt(line)
  return string.find(line, '\v', #LINE_PREFIX + 1, true)
end

local function topicOf(line)
  return sub(line, #LINE_PREFIX + 1, (keyAt(line) or -2) - 1)
end

local function lineOf(topic, priority)
  return LINE_PREFIX .. topic .. ':' .. priority
end

-- All lines of a topic; those of messages with keys behind each other one.
local function linesOf(topic)
  local lines = {}
  for priority = 0, 2 do
    lines[#lines + 1], lines[#lines + 2] = lineOf(topic, priority), lineOf(topic .. '\v', priority)
  end
  return lines
end

-- As Redis compares members: by bytes. Lua's own comparison follows the server's locale.
local function isBefore(a, b)
  for index = 1, math.min(#a, #b) do
    local x, y = byte(a, index), byte(b, index)
    if x ~= y then
      return x < y
    end
  end
  return #a < #b
end

-- A server at maxmemory refuses the first write of a script if that could need memory, and none after it. This one
-- needs none (no id is empty) and changes nothing: a script that calls it first may finish work on a full server.
local function writeEvenWhenFull()
  call('HDEL', PAYLOAD, '')
end
