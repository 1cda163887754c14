-- settle: ends leases: done, again later, given back, or dead.
-- uses: base topics waiting failures
--
-- KEYS      the twelve of `base`
-- ARGV      now, channel, then for each: id, token, kind and what the kind needs:
--           'ack'   'retry' delay in ms, error   'release'   'dead' reason, error
-- reply     a word for each: 'settled' 'lost'
-- upholds   P4 nothing happens unless the message runs under exactly this token
--           P6 a release leaves the attempts as they were before the claim
--           P8 the first writes need no memory: a full server still lets work finish
-- cost      O(log n) for each, without reading bodies; one publish at most

local OPERANDS = { ack = 0, release = 0, retry = 2, dead = 2 }

local ids, tokens, kinds, operands = {}, {}, {}, {}
local at = 3
while at <= #ARGV do
  local size = #ids + 1
  ids[size], tokens[size], kinds[size], operands[size] = ARGV[at], ARGV[at + 1], ARGV[at + 2], at + 3
  at = at + 3 + OPERANDS[ARGV[at + 2]]
end
if #ids == 0 then
  return {}
end

local endedLeases = batch('ZREM', LEASES)
local endedRuns = batch('HDEL', RUNNING)
local goneBodies = batch('HDEL', PAYLOAD)
local goneFailures = batch('HDEL', FAILURES)
local newFailures = batch('HSET', FAILURES)
local deaths = batch('ZADD', DEAD)

local function settle(id, kind, record, operand)
  local stamp = sub(record, 11, 23)
  if kind == 'ack' then
    add(goneBodies, id)
    if hasFailures then
      add(goneFailures, id)
    end
  elseif kind == 'release' then
    await(id, stamp, (unpackNumber(NUMBER, record)))
  elseif kind == 'retry' then
    local _, attempt = unpackNumber('>I6I4', record)
    add(newFailures, id, failure(attempt, 0, '', ARGV[operand + 1]))
    await(id, stamp, dueAfter(tonumber(ARGV[operand])))
  else
    local dueAt, attempt = unpackNumber('>I6I4', record)
    add(newFailures, id, failure(attempt, dueAt, ARGV[operand], ARGV[operand + 1]))
    add(deaths, math.floor(now), id)
    tally(sub(stamp, 7, 12), 3, 1)
  end
end

local records = call('HMGET', RUNNING, unpack(ids))
local ended = {}
local words = {}
for index, id in ipairs(ids) do
  local record = records[index]
  if record and not ended[id] and sub(record, 24) == tokens[index] then
    ended[id] = true -- The same lease again in this batch is lost.
    add(endedLeases, id)
    add(endedRuns, id)
    tally(sub(record, 17, 22), 2, -1)
    settle(id, kinds[index], record, operands[index])
    words[index] = 'settled'
  else
    words[index] = 'lost'
  end
end

send(endedLeases)
send(endedRuns)
send(goneBodies)
send(goneFailures)
send(newFailures)
send(deaths)
writeWaiting()
writeTallies()
wake()
return words
