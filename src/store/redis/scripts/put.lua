-- put: accepts messages, in order.
-- uses: base topics waiting failures
--
-- KEYS      the twelve of `base`
-- ARGV      now, channel, T, T topic names, M messages, then runs of messages that have these in common:
--           index of the topic (from 1), 'keep' or 'replace', delay in ms or '@' and a moment, how many;
--           and two for each message: id, tail
-- reply     for each that was not simply stored: its place (from 1), and 'duplicate', 'replaced' or 'running'
-- upholds   P2 stored whole or not at all: the first write is one that a full server refuses
--           P5 an id is taken until its message is gone      P7 produce order is the sequence
-- cost      O(log n) for each message; one publish at most

local topicCount = tonumber(ARGV[3])
local messageCount = tonumber(ARGV[4 + topicCount])
local firstRun = 5 + topicCount

local names, topicOf = {}, {}
for index = 1, topicCount do
  names[index] = ARGV[3 + index]
end
if topicCount > 0 then
  local known = call('HMGET', TOPIC_NUMBERS, unpack(names))
  for index = 1, topicCount do
    if known[index] and #known[index] == DIGIT_COUNT then
      topicOf[index] = known[index]
      nameOf[known[index]] = names[index]
    end
  end
end

-- One increment for the whole batch, and none if all are duplicates; a few numbers are lost, which is harmless.
local lastGiven
local function reserve()
  if lastGiven == nil then
    lastGiven = takeNumbers(messageCount + topicCount)
  end
end
local function nextNumber()
  lastGiven = lastGiven + 1
  return number(lastGiven)
end

local newTopics = batch('HSET', TOPIC_NUMBERS)
local stored = {}
local function topicAt(index)
  if not topicOf[index] then
    topicOf[index] = nextNumber()
    if call('HEXISTS', TOPICS, topicOf[index]) == 1 then
      -- The sequence was set back: on with numbers that nobody has.
      call('SET', SEQUENCE, '')
      lastGiven = takeNumbers(messageCount + topicCount)
      topicOf[index] = nextNumber()
    end
    nameOf[topicOf[index]] = names[index]
    add(newTopics, names[index], topicOf[index])
  end
  stored[index] = (stored[index] or 0) + 1
  return topicOf[index]
end

local payloads = batch('HSET', PAYLOAD)
local function flush()
  send(newTopics)
  send(payloads)
  writeWaiting()
end

-- Takes away what an id stood for; false if it runs.
local function discard(id, value)
  local stamp = sub(value, 1, STAMP_END)
  local score = waitingScore(id, stamp)
  if score then
    endWaiting(id, stamp, score)
  elseif call('ZREM', DEAD, id) == 1 then
    tally(sub(stamp, TOPIC_AT, TOPIC_END), 3, -1)
  else
    return false
  end
  forget(id)
  return true
end

-- Batches mostly share their delay.
local lastMoment, lastDueAt
local function whenDue(moment)
  if moment ~= lastMoment then
    lastMoment = moment
    if sub(moment, 1, 1) == '@' then
      lastDueAt = math.max(1, tonumber(sub(moment, 2)))
    else
      lastDueAt = dueAfter(tonumber(moment))
    end
  end
  return lastDueAt
end

local ids, existing = {}, {}
local at = firstRun
while at <= #ARGV do
  local last = at + 2 + 2 * tonumber(ARGV[at + 3])
  for place = at + 4, last, 2 do
    ids[#ids + 1] = ARGV[place]
  end
  at = last + 2
end
readBodies(ids, 1, messageCount, existing, { bytes = math.huge })

local exceptions, met = {}, {}
local function except(index, word)
  exceptions[#exceptions + 1] = index
  exceptions[#exceptions + 1] = word
end

local function putOne(index, topicIndex, ifExists, dueAt, tail)
  local id = ids[index]
  local value = existing[index]
  if met[id] then
    flush() -- The same id twice in one batch: look again at what the first left.
    value = call('HGET', PAYLOAD, id)
  end
  met[id] = true
  if value and ifExists == 'keep' then
    return except(index, 'duplicate')
  end
  reserve()
  if value then
    if not discard(id, value) then
      return except(index, 'running')
    end
    except(index, 'replaced')
  end
  local seq, topic = nextNumber(), topicAt(topicIndex)
  add(payloads, id, seq .. topic .. tail)
  await(id, seq, topic, sub(tail, 1, 1), dueAt)
end

local index = 0
at = firstRun
while at <= #ARGV do
  local topicIndex, ifExists, dueAt = tonumber(ARGV[at]), ARGV[at + 1], whenDue(ARGV[at + 2])
  local last = at + 2 + 2 * tonumber(ARGV[at + 3])
  for place = at + 4, last, 2 do
    index = index + 1
    putOne(index, topicIndex, ifExists, dueAt, ARGV[place + 1])
  end
  at = last + 2
end

flush()
for index, count in pairs(stored) do
  tally(topicOf[index], 1, count)
end
writeTallies()
wake()
return exceptions
