-- settle: ends leases: done, again later, given back, or dead.
-- uses: base topics waiting failures
--
-- KEYS      the twelve of `base`
-- ARGV      now, channel, then in order, because the first settlement of a lease counts:
--           'ack', token, how many, their ids     most end so, and those of one claim share its token
--           'release', token, id, stamp     'retry', token, id, stamp, delay in ms, error
--           'dead', token, id, reason, error
--           The stamp is the one that the claim handed out: a payload is not read for it, which may be long.
-- reply     the places (from 1) of those that are lost; the others are settled
-- upholds   P4 nothing happens unless the message runs under exactly this token
--           P6 a release leaves the attempts as they were before the claim
--           P8 the first writes need no memory: a full server still lets work finish
-- cost      O(log n) for each, without reading bodies; one publish at most

local OPERANDS = { release = 1, retry = 3, dead = 2 }

-- The operands are the place of the first in ARGV; an ack has none.
local ids, tokens, kinds, operands = {}, {}, {}, {}
local size, at = 0, 3
while at <= #ARGV do
  local kind, token = ARGV[at], ARGV[at + 1]
  if kind == 'ack' then
    local count = tonumber(ARGV[at + 2])
    for place = at + 3, at + 2 + count do
      size = size + 1
      ids[size], tokens[size] = ARGV[place], token
    end
    at = at + 3 + count
  else
    size = size + 1
    ids[size], tokens[size], kinds[size], operands[size] = ARGV[at + 2], token, kind, at + 3
    at = at + 3 + OPERANDS[kind]
  end
end
if size == 0 then
  return {}
end

local ended = batch('ZREM', LEASES)
local gone = batch('HDEL', PAYLOAD)
local newFailures = batch('HSET', FAILURES)
local deaths = batch('ZADD', DEAD)

local function settle(id, kind, lease, operand)
  local dueAt, attempt = unpackNumber('>I6I4', lease)
  if kind == 'release' then
    awaitAgain(id, ARGV[operand], dueAt)
  elseif kind == 'retry' then
    add(newFailures, id, failure(attempt, 0, '', ARGV[operand + 2]))
    awaitAgain(id, ARGV[operand], dueAfter(tonumber(ARGV[operand + 1])))
  else
    add(newFailures, id, failure(attempt, dueAt, ARGV[operand], ARGV[operand + 1]))
    add(deaths, text(math.floor(now)), id)
    tally(sub(lease, RECORD_TOPIC_AT, RECORD_TOPIC_END), 3, 1)
  end
end

local records = call('HMGET', RUNNING, unpack(ids))
local isEnded, endedOf, lost = {}, {}, {}
local endedSize, goneSize = 0, 0
-- What one claim handed out mostly has the same record: its parts are looked at once.
local known, knownToken, knownTopic
for index = 1, size do
  local id, record = ids[index], records[index]
  if record and record ~= known then
    known, knownToken, knownTopic = record, sub(record, TOKEN_AT), sub(record, RECORD_TOPIC_AT, RECORD_TOPIC_END)
  end
  if record and not isEnded[id] and knownToken == tokens[index] then
    isEnded[id] = true -- The same lease again in this batch is lost.
    endedSize = endedSize + 1
    ended[endedSize] = id
    endedOf[knownTopic] = (endedOf[knownTopic] or 0) + 1
    if kinds[index] then
      settle(id, kinds[index], record, operands[index])
    else
      goneSize = goneSize + 1
      gone[goneSize] = id
    end
  else
    lost[#lost + 1] = index
  end
end
ended.size, gone.size = endedSize, goneSize
for topic, count in pairs(endedOf) do
  tally(topic, 2, -count)
end

sendAs(ended, 'HDEL', RUNNING)
send(ended)
if hasFailures then
  sendAs(gone, 'HDEL', FAILURES)
end
send(gone)
send(newFailures)
send(deaths)
writeWaiting()
writeTallies()
wake()
return lost
