-- claim_due: hands out what is due for the caller's topics, and says when to ask again.
-- uses: base topics grants
--
-- KEYS      the twelve of `base`
-- ARGV      now, channel, limit, lease in ms, lead in ms, nonce, publisher, then two for each topic wanted: name, limit
-- reply     now, when to ask again ('NO_TASK', 'EXPIRED' or ms), token, messages lost without a body,
--           rows of five: id, topic, dueAt, attempt, tail
--
-- Idea: priority by priority, look at the due end of the delay set through a window about as large as the limit.
--
--   delay set:  -ASIDE.. │ due, in order ──────────────────►│ lead │ to come
--                 aside  │[   window   ]                    now    horizon
--
-- What is wanted is handed out straight from the window, in order. What was due and is not wanted, or not within its
-- topic's limit, is set aside: into `pending`, by topic, once; whoever wants it finds it there. So the next window
-- begins further on, and nobody's backlog stands before anybody else's message.
-- Where a wanted topic has a line in `pending`, line and window are merged by (dueAt, seq). A line is trusted up to the
-- frontier, the last message of the window: beyond it the delay set may hold an earlier one that nobody looked at yet.
--
-- upholds   P1 nothing beyond now + lead     P3 out of the delay set and under a lease in one step
--           P6 the attempt is counted here   P7 (dueAt, seq) within topic and priority, higher priorities first
--           P8 the first writes need no memory: a full server still hands out work
-- cost      O(log n) for each message looked at; at most EXAMINE_MAX of them and READ_BYTES_MAX of bodies
-- danger    bodies are read to learn the topic: one that is set aside is read twice in its life

local EXAMINE_MAX = 2000
local WINDOW_MIN = 100

local left, leaseMs, leadMs = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local nonce, publisher = ARGV[6], ARGV[7]
local horizon = now + leadMs
local horizonText = string.format('%.3f', horizon)
local pendingEnd = number(math.floor(horizon) + 1)

local wants, wantOf = {}, {}
if #ARGV >= 8 then
  local names = {}
  for index = 8, #ARGV, 2 do
    names[#names + 1] = ARGV[index]
  end
  local numbers = call('HMGET', TOPIC_NUMBERS, unpack(names))
  for index, name in ipairs(names) do
    local topic = numbers[index]
    if topic and not wantOf[topic] then
      local want = { topic = topic, name = name, left = tonumber(ARGV[7 + index * 2]), found = {} }
      wants[#wants + 1] = want
      wantOf[topic] = want
    end
  end
end

local budget = { bytes = READ_BYTES_MAX, messages = EXAMINE_MAX }
local isAnyPending = call('ZCARD', PENDING) > 0
local knownLines = {}
local isNewLine = false
local orphans = 0
local chosen = {}
local isMore = false
local nextAt = math.huge

local leavings, leavingPendings, asides, newPendings = {}, batch('ZREM', PENDING), {}, batch('ZADD', PENDING)
for _, priority in ipairs(PRIORITIES) do
  leavings[priority] = batch('ZREM', DELAYS[priority])
  asides[priority] = batch('ZADD', DELAYS[priority])
end

local function isBefore(a, b)
  if a.dueAt ~= b.dueAt then
    return a.dueAt < b.dueAt
  end
  return unpackNumber(NUMBER, a.seq) < unpackNumber(NUMBER, b.seq)
end

local function firstOfLine(topic, priority)
  local line = topic .. priority
  return call('ZRANGEBYLEX', PENDING, '[' .. line, '(' .. line .. '\255', 'LIMIT', 0, 1)[1]
end

local function setAside(message, priority)
  local line = message.topic .. priority
  if not knownLines[line] then
    knownLines[line] = true
    isNewLine = isNewLine or not firstOfLine(message.topic, priority)
  end
  isAnyPending = true
  add(asides[priority], message.dueAt - ASIDE, message.seq .. message.id)
  add(newPendings, 0, line .. number(message.dueAt) .. message.seq .. message.id)
end

local function choose(message, want, priority)
  if message.pending then
    add(leavingPendings, message.pending)
  end
  add(leavings[priority], message.seq .. message.id)
  message.name, message.priority = want.name, priority
  chosen[#chosen + 1] = message
  want.left = want.left - 1
  left = left - 1
end

-- The due end of the delay set from `offset` on, with bodies. The second value: whether that was all of it.
local function look(priority, offset, size)
  local found = call('ZRANGEBYSCORE', DELAYS[priority], 0, horizonText, 'WITHSCORES', 'LIMIT', offset, size)
  local ids, values, window = {}, {}, {}
  for index = 1, #found, 2 do
    ids[#ids + 1] = sub(found[index], 7)
  end
  local read = readValues(ids, 1, values, budget)
  budget.messages = budget.messages - read
  for index = 1, read do
    local member, value = found[index * 2 - 1], values[index]
    if value then
      local dueAt = tonumber(found[index * 2])
      window[#window + 1] =
        { id = ids[index], seq = sub(member, 1, 6), dueAt = dueAt, topic = sub(value, 7, 12), value = value }
    else
      add(leavings[priority], member)
      orphans = orphans + 1
    end
  end
  return window, read == #ids and #ids < size
end

-- What a wanted topic has in line, up to the frontier, as far as it could be handed out.
local function inLine(want, priority, frontier)
  local line = want.topic .. priority
  local size = math.min(want.left, left)
  local members =
    call('ZRANGEBYLEX', PENDING, '[' .. line, '(' .. line .. pendingEnd, 'LIMIT', 0, size)
  local found, ids, values = {}, {}, {}
  for index, member in ipairs(members) do
    local message = { id = sub(member, 20), seq = sub(member, 14, 19), pending = member, topic = want.topic }
    message.dueAt = unpackNumber(NUMBER, member, 8)
    if frontier and isBefore(frontier, message) then
      break
    end
    found[index], ids[index] = message, message.id
  end
  local read = readValues(ids, 1, values, budget)
  local kept = {}
  for index = 1, read do
    if values[index] then
      found[index].value = values[index]
      kept[#kept + 1] = found[index]
    else
      add(leavingPendings, found[index].pending)
      add(leavings[priority], found[index].seq .. found[index].id)
      orphans = orphans + 1
    end
  end
  return kept
end

local function merge(line, window)
  if #line == 0 then
    return window
  end
  local merged, a, b = {}, 1, 1
  while a <= #line or b <= #window do
    if b > #window or (a <= #line and isBefore(line[a], window[b])) then
      merged[#merged + 1] = line[a]
      a = a + 1
    else
      merged[#merged + 1] = window[b]
      b = b + 1
    end
  end
  return merged
end

local function write(priority)
  send(leavings[priority])
  send(leavingPendings)
  send(asides[priority])
  send(newPendings)
end

-- Looks through one window; returns how many messages of it stay where they are, and whether the set is done with.
local function claimWindow(priority, offset, size)
  local window, isAll = look(priority, offset, size)
  local frontier = not isAll and window[#window] or nil
  local stay = 0
  local function passOver(message)
    if message.dueAt <= now then
      setAside(message, priority)
    else
      stay = stay + 1
      nextAt = math.min(nextAt, message.dueAt)
    end
  end

  for _, message in ipairs(window) do
    local want = wantOf[message.topic]
    if want then
      want.found[#want.found + 1] = message
    else
      passOver(message)
    end
  end
  for _, want in ipairs(wants) do
    local candidates = want.found
    want.found = {}
    if isAnyPending and want.left > 0 and left > 0 and (isAll or frontier) then
      candidates = merge(inLine(want, priority, frontier), candidates)
    end
    for _, message in ipairs(candidates) do
      if want.left > 0 and left > 0 then
        choose(message, want, priority)
      elseif not message.pending then
        isMore = true
        if left > 0 then
          passOver(message)
        end
      end
    end
  end
  write(priority)
  return stay, isAll
end

for _, priority in ipairs(PRIORITIES) do
  local offset, isAll, size = 0, false, left
  while left > 0 and not isAll and budget.messages > 0 and budget.bytes > 0 do
    local stay
    stay, isAll = claimWindow(priority, offset, math.min(size, budget.messages))
    offset = offset + stay
    size = math.max(left, WINDOW_MIN)
  end
  -- Not looked at, and perhaps wanted.
  if not isAll and #call('ZRANGEBYSCORE', DELAYS[priority], 0, horizonText, 'LIMIT', offset, 1) > 0 then
    isMore = true
  end
end

if #chosen > 0 then
  local endsAt = math.ceil(now + leaseMs)
  token = string.format('%.0f', call('INCR', SEQUENCE)) .. '.' .. nonce
  local failures = {}
  if call('EXISTS', FAILURES) == 1 then
    local ids = {}
    for index, message in ipairs(chosen) do
      ids[index] = message.id
    end
    failures = call('HMGET', FAILURES, unpack(ids))
  end
  for index, message in ipairs(chosen) do
    local attempt = failures[index] and unpackNumber('>I4', failures[index]) or 0
    local record = pack('>I6I4', message.dueAt, attempt + 1) .. sub(message.value, 1, 13)
    grant(message.id, record, message.name, message.value, endsAt)
    tally(message.topic, 1, -1)
    tally(message.topic, 2, 1)
  end
  send(leases)
  send(runs)
  writeTallies()
end

-- When to ask again. What only others want does not count, except that it must be set aside when its moment comes
-- (`nextAt` has that already): an overdue head would hide later messages from the wake-up.
for _, priority in ipairs(PRIORITIES) do
  local coming =
    call('ZRANGEBYSCORE', DELAYS[priority], '(' .. horizonText, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
  if coming[2] then
    nextAt = math.min(nextAt, tonumber(coming[2]) - leadMs)
  end
  if isAnyPending then
    for _, want in ipairs(wants) do
      local member = firstOfLine(want.topic, priority)
      local dueAt = member and unpackNumber(NUMBER, member, 8) or math.huge
      isMore = isMore or dueAt <= horizon
      nextAt = math.min(nextAt, dueAt - leadMs)
    end
  end
end

-- Workers of other topics learn that something of theirs was set aside; the caller knows already.
if isNewLine then
  redis.pcall('PUBLISH', ARGV[2], publisher)
end

if isMore then
  return claimed('EXPIRED', orphans)
end
return claimed(nextAt == math.huge and 'NO_TASK' or waiting(nextAt - now), orphans)
