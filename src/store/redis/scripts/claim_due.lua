-- claim_due: hands out what is due for the caller's topics, and says when to ask again.
-- uses: base topics grants
--
-- KEYS      the twelve of `base`
-- ARGV      now, channel, limit, lease in ms, lead in ms, nonce, publisher, then two for each topic wanted: name, limit
-- reply     now, when to ask again ('NO_TASK', 'EXPIRED' or ms), token, messages lost without a body,
--           no names (the claimer knows whom it asked for), groups (with the place of the topic among those wanted,
--           from 0), ids, payloads: see `grants`
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
-- A member of `pending`: topic, priority, dueAt, seq, id.
local LINE_PRIORITY_AT, LINE_DUE_AT, LINE_MEMBER_AT = 9, 10, 18

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
  for index = 1, #names do
    local topic = numbers[index]
    if topic and not wantOf[topic] then
      local want = { topic = topic, place = index - 1, left = tonumber(ARGV[7 + index * 2]) }
      want.found, want.size, want.given = {}, 0, 0
      wants[#wants + 1] = want
      wantOf[topic] = want
    end
  end
end

-- The messages looked at, a number each, as columns: a table for each would cost more than all the rest.
local seenIds, members, dueAts, dueTexts, bodies, inPending, seen = {}, {}, {}, {}, {}, {}, 0
-- Those to hand out, and for whom.
local chosen, chosenFor, chosenSize = {}, {}, 0

local budget = { bytes = READ_BYTES_MAX, messages = EXAMINE_MAX }
local isAnyPending = call('ZCARD', PENDING) > 0
local knownLines = {}
local isNewLine = false
local orphans = 0
local isMore = false
local nextAt = math.huge

local leavingPendings, newPendings = batch('ZREM', PENDING), batch('ZADD', PENDING)
local leavings, asides = {}, {}
for _, priority in ipairs(PRIORITIES) do
  leavings[priority] = batch('ZREM', DELAYS[priority])
  asides[priority] = batch('ZADD', DELAYS[priority])
end

local function isBefore(a, b)
  if dueAts[a] ~= dueAts[b] then
    return dueAts[a] < dueAts[b]
  end
  return numberIn(members[a], 1) < numberIn(members[b], 1)
end

local function firstOfLine(topic, priority)
  local line = topic .. priority
  return call('ZRANGEBYLEX', PENDING, '[' .. line, '(' .. line .. '\255', 'LIMIT', 0, 1)[1]
end

local function setAside(message, priority)
  local line = sub(bodies[message], TOPIC_AT, TOPIC_END) .. priority
  if not knownLines[line] then
    knownLines[line] = true
    isNewLine = isNewLine or not firstOfLine(sub(line, 1, LINE_PRIORITY_AT - 1), priority)
  end
  isAnyPending = true
  add(asides[priority], text(dueAts[message] - ASIDE), members[message])
  add(newPendings, '0', line .. number(dueAts[message]) .. members[message])
end

local function choose(message, want, leaving)
  chosenSize = chosenSize + 1
  chosen[chosenSize], chosenFor[chosenSize] = message, want
  add(leaving, members[message])
  if inPending[message] then
    add(leavingPendings, inPending[message])
  end
  want.left, want.given = want.left - 1, want.given + 1
  left = left - 1
end

-- A body that is not there: somebody deleted or evicted it, and nothing is left to hand out.
local function drop(message, leaving)
  orphans = orphans + 1
  add(leaving, members[message])
  if inPending[message] then
    add(leavingPendings, inPending[message])
  end
end

-- Whether a body belongs to the member that led to it. Not after somebody deleted a body and its id was used again: the
-- old member must not hand out the new message. The last digits of seq tell; comparing them makes no strings.
local byte = string.byte
local function isOf(member, value)
  local a, b, c, d = byte(member, SEQ_END - 3, SEQ_END)
  local w, x, y, z = byte(value, SEQ_END - 3, SEQ_END)
  return d == z and c == y and b == x and a == w
end

-- Reads the bodies of what was seen last; one that belongs to another member counts as none. Returns the last one read.
local function readSeen(first, last)
  last = readBodies(seenIds, first, last, bodies, budget)
  for message = first, last do
    bodies[message] = bodies[message] and isOf(members[message], bodies[message]) and bodies[message]
  end
  return last
end

-- The due end of the delay set from `offset` on. Returns its first and last message, and whether that was all.
local function look(priority, offset, size)
  local found = call('ZRANGEBYSCORE', DELAYS[priority], 0, horizonText, 'WITHSCORES', 'LIMIT', offset, size)
  local first, last = seen + 1, seen
  for index = 1, #found, 2 do
    last = last + 1
    local member = found[index]
    local dueText = found[index + 1]
    members[last], seenIds[last] = member, sub(member, ID_AT)
    dueAts[last], dueTexts[last] = tonumber(dueText), dueText
  end
  seen = readSeen(first, last)
  budget.messages = budget.messages - (seen - first + 1)
  return first, seen, seen == last and #found < size * 2
end

-- What a wanted topic has in line, up to the frontier, as far as it could be handed out.
local function inLine(want, priority, frontier)
  local line = want.topic .. priority
  local found =
    call('ZRANGEBYLEX', PENDING, '[' .. line, '(' .. line .. pendingEnd, 'LIMIT', 0, math.min(want.left, left))
  local first, last = seen + 1, seen
  for _, member in ipairs(found) do
    local message = last + 1
    members[message] = sub(member, LINE_MEMBER_AT)
    seenIds[message], inPending[message] = sub(members[message], ID_AT), member
    dueAts[message], dueTexts[message] = numberIn(member, LINE_DUE_AT), nil
    if frontier and isBefore(frontier, message) then
      break
    end
    last = message
  end
  seen = readSeen(first, last)
  -- Whoever gets these numbers next does not stand in line.
  for message = seen + 1, first + #found - 1 do
    inPending[message] = nil
  end
  return first, seen
end

-- The messages first..last, which stand in line, and those that the window brought, in one order.
local function merge(first, last, want)
  local merged, size, at = {}, 0, 1
  while first <= last or at <= want.size do
    size = size + 1
    if at > want.size or (first <= last and isBefore(first, want.found[at])) then
      merged[size] = first
      first = first + 1
    else
      merged[size] = want.found[at]
      at = at + 1
    end
  end
  want.found, want.size = merged, size
end

-- Looks through one window; returns how many messages of it stay where they are, and whether the set is done with.
local function claimWindow(priority, offset, size)
  local first, last, isAll = look(priority, offset, size)
  local frontier = not isAll and last >= first and last or nil
  local stay = 0
  local function passOver(message)
    if dueAts[message] <= now then
      setAside(message, priority)
    else
      stay = stay + 1
      nextAt = math.min(nextAt, dueAts[message])
    end
  end

  local leaving = leavings[priority]
  for message = first, last do
    local value = bodies[message]
    local want = value and wantOf[sub(value, TOPIC_AT, TOPIC_END)]
    if want then
      want.size = want.size + 1
      want.found[want.size] = message
    elseif value then
      passOver(message)
    else
      drop(message, leaving)
    end
  end
  for _, want in ipairs(wants) do
    if isAnyPending and want.left > 0 and left > 0 and (isAll or frontier) then
      local lineFirst, lineLast = inLine(want, priority, frontier)
      merge(lineFirst, lineLast, want)
    end
    for index = 1, want.size do
      local message = want.found[index]
      if not bodies[message] then
        drop(message, leaving)
      elseif want.left > 0 and left > 0 then
        choose(message, want, leaving)
      elseif not inPending[message] then
        isMore = true
        if left > 0 then
          passOver(message)
        end
      end
    end
    want.size = 0
  end
  if asides[priority].size > 0 then
    writeEvenWhenFull()
  end
  send(leaving)
  send(leavingPendings)
  send(asides[priority])
  send(newPendings)
  return stay, isAll
end

-- The common case, without the windows' bookkeeping: nothing is set aside and nothing failed before. Hands out from the
-- due end of the delay set up to the first message that is not wanted, where the windows go on.
-- Returns whether the set is done with.
local function claimRun(priority)
  local wanted = 0
  for _, want in ipairs(wants) do
    wanted = wanted + want.left
  end
  local key, size = DELAYS[priority], math.min(left, wanted, budget.messages)
  if size == 0 then
    return false
  end
  local found = call('ZRANGEBYSCORE', key, 0, horizonText, 'LIMIT', 0, size)
  if #found == 0 then
    return true
  end
  -- A score is dear to print. Bursts and backlogs often share theirs: then it is asked for twice, not for each.
  local dueText, scored = call('ZSCORE', key, found[1]), nil
  if call('ZSCORE', key, found[#found]) ~= dueText then
    scored = call('ZRANGEBYSCORE', key, 0, horizonText, 'WITHSCORES', 'LIMIT', 0, size)
  end
  local taken, isWanted = 0, true
  while taken < #found and isWanted and budget.bytes > 0 do
    local chunk = {}
    for index = taken + 1, math.min(taken + READ_CHUNK, #found) do
      chunk[index - taken] = sub(found[index], ID_AT)
    end
    local read = call('HMGET', PAYLOAD, unpack(chunk))
    for index, id in ipairs(chunk) do
      local value = read[index]
      local want = value and isOf(found[taken + 1], value) and wantOf[sub(value, TOPIC_AT, TOPIC_END)]
      if not want or want.left == 0 then
        isWanted = false
        break
      end
      if granted == 0 then
        beginGrants(nonce, leaseMs)
      end
      taken = taken + 1
      grant(want, scored and scored[taken * 2] or dueText, 1, id, value)
      want.left, want.given = want.left - 1, want.given + 1
      budget.bytes = budget.bytes - #value
    end
  end
  if taken > 0 then
    -- They stand together, behind what is below zero.
    local first = call('ZCOUNT', key, '-inf', '(0')
    call('ZREMRANGEBYRANK', key, first, first + taken - 1)
  end
  left, budget.messages = left - taken, budget.messages - taken
  return taken == #found and taken < size
end

local isAnyFailure = call('EXISTS', FAILURES) == 1

-- Set aside, and `pending` is gone: somebody deleted or evicted it. They wait as they did before, a few at a time.
local function takeBack(priority)
  local key = DELAYS[priority]
  local stray = call('ZRANGEBYSCORE', key, '-inf', '(0', 'WITHSCORES', 'LIMIT', 0, WINDOW_MIN)
  if #stray > 0 then
    writeEvenWhenFull()
    for index = 1, #stray, 2 do
      call('ZADD', key, text(tonumber(stray[index + 1]) + ASIDE), stray[index])
    end
  end
end

if not isAnyPending then
  for _, priority in ipairs(PRIORITIES) do
    takeBack(priority)
  end
end

for _, priority in ipairs(PRIORITIES) do
  local offset, isAll, size = 0, false, left
  -- Once a window has chosen something, what follows must come after it.
  if #wants > 0 and left > 0 and chosenSize == 0 and not isAnyPending and not isAnyFailure then
    isAll = claimRun(priority)
    size = math.max(left, WINDOW_MIN)
  end
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

if chosenSize > 0 then
  if granted == 0 then
    beginGrants(nonce, leaseMs)
  end
  local failures = {}
  if isAnyFailure then
    local chosenIds = {}
    for index = 1, chosenSize do
      chosenIds[index] = seenIds[chosen[index]]
    end
    failures = call('HMGET', FAILURES, unpack(chosenIds))
  end
  for index = 1, chosenSize do
    local message, want = chosen[index], chosenFor[index]
    local attempt = failures[index] and unpackNumber('>I4', failures[index]) + 1 or 1
    grant(want, dueTexts[message] or text(dueAts[message]), attempt, seenIds[message], bodies[message])
  end
end

if granted > 0 then
  writeGrants()
  for _, want in ipairs(wants) do
    if want.given > 0 then
      tally(want.topic, 1, -want.given)
      tally(want.topic, 2, want.given)
    end
  end
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
      local dueAt = member and numberIn(member, LINE_DUE_AT) or math.huge
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
  return claimed('EXPIRED', orphans, {})
end
return claimed(nextAt == math.huge and 'NO_TASK' or waiting(nextAt - now), orphans, {})
