-- waiting: how a message begins and ends to wait, and whom that wakes.
--
-- Everything that waits stands in the delay set of its priority. A sleeper was told the head of those sets, or that
-- they are empty; so whoever enters before that head must wake the sleepers, and nobody else needs to.
--
-- What was due when a worker of other topics came by has been set aside: ASIDE below its moment in the delay set, and
-- in `pending` by topic. A message that comes due behind such a line joins it at once, and wakes nobody: its topic's
-- workers are busy or absent. So an overdue backlog causes no storm of wake-ups.

local pendings = batch('ZADD', PENDING)
local delays = {}
for _, priority in ipairs(PRIORITIES) do
  delays[priority] = batch('ZADD', DELAYS[priority])
end
setmetatable(delays, {
  __index = function()
    return delays['1']
  end,
})

local head = math.huge
for _, priority in ipairs(PRIORITIES) do
  local first = call('ZRANGEBYSCORE', DELAYS[priority], 0, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
  if first[2] then
    head = math.min(head, tonumber(first[2]))
  end
end
local earliest = math.huge

local isAnyPending = call('ZCARD', PENDING) > 0
local lines = {}

local function hasLine(topic, priority)
  local line = topic .. priority
  if lines[line] == nil then
    lines[line] = #call('ZRANGEBYLEX', PENDING, '[' .. line, '(' .. line .. '\255', 'LIMIT', 0, 1) > 0
  end
  return lines[line]
end

-- Begins to wait. The caller counts it: `tally(topic, 1, 1)`.
local function await(id, seq, topic, priority, dueAt)
  if isAnyPending and dueAt <= now and hasLine(topic, priority) then
    add(delays[priority], text(dueAt - ASIDE), seq .. id)
    add(pendings, '0', topic .. priority .. number(dueAt) .. seq .. id)
    return
  end
  add(delays[priority], text(dueAt), seq .. id)
  if dueAt < earliest then
    earliest = dueAt
  end
end

-- The same for one whose stamp is known: seq+topic+priority, which begins its payload.
local function awaitAgain(id, stamp, dueAt)
  tally(sub(stamp, TOPIC_AT, TOPIC_END), 1, 1)
  await(id, sub(stamp, 1, TOPIC_AT - 1), sub(stamp, TOPIC_AT, TOPIC_END), sub(stamp, STAMP_END, STAMP_END), dueAt)
end

local function writeWaiting()
  for _, priority in ipairs(PRIORITIES) do
    send(delays[priority])
  end
  send(pendings)
end

-- Where it waits, if it does: the score in its delay set.
local function waitingScore(id, stamp)
  return call('ZSCORE', DELAYS[sub(stamp, STAMP_END, STAMP_END)], sub(stamp, 1, TOPIC_AT - 1) .. id)
end

local function endWaiting(id, stamp, score)
  local seq, topic, priority = sub(stamp, 1, TOPIC_AT - 1), sub(stamp, TOPIC_AT, TOPIC_END), sub(stamp, STAMP_END, STAMP_END)
  tally(topic, 1, -1)
  call('ZREM', DELAYS[priority], seq .. id)
  score = tonumber(score)
  if score < 0 then
    call('ZREM', PENDING, topic .. priority .. number(score + ASIDE) .. seq .. id)
  end
end

-- A hint: a user whose rights do not cover the channel still gets its messages, by the fallback.
local function wake()
  if earliest < head then
    redis.pcall('PUBLISH', ARGV[2], '')
  end
end
