-- settling: groups of settlements of one kind and claim, in order, because the first settlement of a lease counts:
--   kind, place of the claim in KEYS, how many, and for each of them
--   'ack': id (before the first of them one '')     'release': id     'lapse': id, error
--   'follow', an ack one by one: id, '1' if it is the handler's own word, else '0'
--   'remember', an ack one by one: id, how long in ms, what to remember, '1' or '0' as above
--   'retry': id, delay in ms, '1' if its lease had lapsed, else '0', error     'dead': id, reason, error
--   'again': id, delay in ms or '@' and a moment, a content that replaces the old one, as in a payload, or '',
--   and '1' if it keeps its lapses, else '0'
-- The message of a settlement that carries others leaves first.
-- reply: the places (from 1) of those that are lost, and below zero of those that are refused; with SUCCEEDED, CANCELLED or
-- DEFERRED added of those that gave way to a successor, were cancelled, or need a script that can store a successor

local OPERANDS = { release = 1, lapse = 2, retry = 4, dead = 3, follow = 2, remember = 4, again = 4 }
local SUCCEEDED, CANCELLED, DEFERRED = 1000000, 2000000, 3000000
local exceptions, place = {}, 0

local waitingAgain, earliest = {}, {}
local function await(line, due, member)
  local into = waitingAgain[line] or {}
  waitingAgain[line] = into
  into[#into + 1], into[#into + 2] = due, member
  earliest[line] = math.min(earliest[line] or math.huge, tonumber(due))
end

local function enterAgain()
  for line, members in pairs(waitingAgain) do
    if keyAt(line) then
      for index = 1, #members, 2 do
        stand(line, members[index], members[index + 1])
      end
    else
      call('ZADD', line, unpack(members))
    end
    entered(line, earliest[line])
  end
end

-- A retry, or what lapsed: a serial key waits for it.
local function awaitHeld(line, due, member)
  await(line, due, member)
  if keyAt(line) then
    keyed().hold(line, due, member)
  end
end

-- The owner that gave everything back which others are woken for; '' where the owners should hear it too.
local giver, giverName
-- By line, how many were given back.
local givenBack = {}

local linesOf = {}
local function lineIn(claim, number)
  linesOf[claim] = linesOf[claim] or linesIn(call('HGET', claim, ''))
  return linesOf[claim][number]
end

-- What stays of a message that is done.
local function remember(id, due, ms, told)
  local value = call('HGET', PAYLOAD, id) or ''
  local at = byte(value, 1) == MARK_BYTE and ID_AT or 1
  local untilAt = text(math.floor(now + ms))
  local attempts, _, firstDueAt = failureOf(id)
  local record = { '=' .. untilAt, due, text(firstDueAt), attempts + 1, sub(value, at, at + 7) }
  call('HSET', PAYLOAD, id, table.concat(record, ' ') .. '\n' .. told)
  call('ZADD', REMEMBERED, untilAt, id)
  anyRemembered = true
  pruneRemembered()
end

-- Set by scripts that can store messages: whether those that this settlement carries can be stored, storing them, and
-- storing a successor.
local canCarry, carry, succeed

local function isDone(kind)
  return kind == 'ack' or kind == 'follow' or kind == 'remember'
end

local function isOwnWord(kind, operand)
  return (kind == 'follow' and ARGV[operand] == '1') or (kind == 'remember' and ARGV[operand + 2] == '1')
end

-- It leaves, however its attempt ended: it was to be cancelled, or another has replaced it.
local function giveWay(kind, id, isCancelled)
  local successor = succeed and dropSuccessor(id)
  call('HDEL', PAYLOAD, id)
  forgetExtras(id)
  forget(id)
  giver = ''
  if not isCancelled and carry then
    carry()
  end
  if successor then
    succeed(id, successor)
  end
  if isCancelled then
    exceptions[#exceptions + 1] = CANCELLED + place
  elseif not isDone(kind) then
    exceptions[#exceptions + 1] = SUCCEEDED + place
  end
end

-- Returns true if it counted in the ordinary way.
local function settle(claim, kind, id, operand)
  local entry = call('HGET', claim, id)
  if not entry then
    exceptions[#exceptions + 1] = place
    return
  end
  local extras = extrasOf(id)
  local isSucceeded = isMarked(extras, 's')
  local isCancelled = isMarked(extras, 'c') and not isOwnWord(kind, operand)
  if isSucceeded and not succeed then
    exceptions[#exceptions + 1] = DEFERRED + place
    return
  end
  local isMoved = kind == 'retry' or kind == 'again'
  local newDue = isMoved and dueOf(ARGV[operand])
  if (isMoved and not newDue) or (canCarry and not isCancelled and not canCarry()) then
    exceptions[#exceptions + 1] = -place
    return
  end
  local due, number, stamp = readEntry(entry)
  local line = lineIn(claim, number)
  if not line then
    line, stamp = headOf(call('HGET', PAYLOAD, id) or '')
  end
  call('HDEL', claim, id)
  local countedLine = countRunning(line, -1)
  -- Of a message that was not counted the claim knows no key.
  if keyAt(line) and not isDone(kind) then
    line, stamp = headOf(call('HGET', PAYLOAD, id) or '')
  end
  if isCancelled or isSucceeded then
    return giveWay(kind, id, isCancelled)
  end
  if isDone(kind) then
    if kind == 'remember' then
      remember(id, due, tonumber(ARGV[operand]), ARGV[operand + 1])
    else
      call('HDEL', PAYLOAD, id)
    end
    forgetExtras(id)
    forget(id)
    return true
  elseif kind == 'release' then
    local owner = ownerOf(claim)
    giver = (giver == nil or giver == owner) and owner or ''
    giverName = nameOf(claim)
    givenBack[countedLine] = (givenBack[countedLine] or 0) + 1
    await(line, due, memberOf(id, stamp))
    return true
  end
  giver = ''
  local attempts, lapses, firstDueAt, _, _, message = failureOf(id)
  firstDueAt = firstDueAt == 0 and tonumber(due) or firstDueAt
  if kind == 'lapse' then
    writeFailure(id, attempts + 1, lapses + 1, firstDueAt, 0, '', ARGV[operand])
    awaitHeld(line, due, memberOf(id, stamp))
  elseif kind == 'retry' then
    lapses = ARGV[operand + 1] == '1' and lapses + 1 or 0
    writeFailure(id, attempts + 1, lapses, firstDueAt, 0, '', ARGV[operand + 2])
    awaitHeld(line, text(newDue), memberOf(id, stamp))
  elseif kind == 'again' then
    if attempts > 0 then
      writeFailure(id, attempts, ARGV[operand + 2] == '1' and lapses or 0, 0, 0, '', message)
    end
    if ARGV[operand + 1] ~= '' then
      local value = call('HGET', PAYLOAD, id) or ''
      local ends = string.find(value, '[\n\t]') or #value + 1
      call('HSET', PAYLOAD, id, sub(value, 1, ends - 1) .. ARGV[operand + 1])
    end
    await(line, text(newDue), memberOf(id, stamp))
  else
    writeFailure(id, attempts + 1, lapses, firstDueAt, tonumber(due), ARGV[operand], ARGV[operand + 1])
    call('ZADD', DEAD, text(math.floor(now)), id)
    countDied(line, 1)
  end
  return true
end

-- Those of a claim that are done go together if all of them are held and none is marked, else one by one.
local function acknowledge(claim, first, count)
  local last = first + count - 1
  local held = call('HMGET', claim, unpack(ARGV, first - 1, last))
  local isAll = true
  for index = 2, count + 1 do
    isAll = isAll and held[index]
  end
  local extras = hasExtras() and call('HMGET', EXTRAS, unpack(ARGV, first, last)) or {}
  for index = 1, #extras do
    isAll = isAll and not (extras[index] and (isMarked(extras[index], 's') or isMarked(extras[index], 'c')))
  end
  if not isAll then
    for index = first, last do
      place = place + 1
      settle(claim, 'ack', ARGV[index], 0)
    end
    return
  end
  local removed = call('HDEL', claim, unpack(ARGV, first, last))
  call('HDEL', PAYLOAD, unpack(ARGV, first, last))
  if hasFailures then
    call('HDEL', FAILURES, unpack(ARGV, first, last))
  end
  for index = 1, #extras do
    if extras[index] then
      dropExtras(ARGV[first + index - 1], extras[index])
    end
  end
  local lines, isDone = linesIn(held[1]), {}
  if #lines == 1 and removed == count then
    countRunning(lines[1], -count)
  else
    for index = 1, count do
      local id, _, number = ARGV[first + index - 1], readEntry(held[index + 1])
      if isDone[id] then
        exceptions[#exceptions + 1] = place + index
      elseif lines[number] then
        countRunning(lines[number], -1)
      end
      isDone[id] = true
    end
  end
  place = place + count
end

-- Topics at their limit, of which fewer run now: others may start, and no worker knows yet that they wait. Where one of them is
-- done, its owner may have room for the next, and hears it too.
local function wakeFreed()
  local ended, done, tools = {}, {}, controlTools()
  for line, by in pairs(ranHere) do
    local topic = topicOf(line)
    ended[topic] = (ended[topic] or 0) - by
    done[topic] = (done[topic] or 0) - by - (givenBack[line] or 0)
  end
  for topic, count in pairs(ended) do
    local record = call('HGET', CONTROLS, topic)
    local most = record and tools.read(record)[CONCURRENCY] or 0
    local running = most > 0 and tonumber(call('HGET', RUNNING, topic)) or 0
    if running < most and running + count >= most then
      rouse(topic, 0)
      giver = done[topic] > 0 and '' or giver
    end
  end
end

-- All groups from this argument on.
local function settleAll(at)
  while at <= #ARGV do
    local kind, claim, count = ARGV[at], KEYS[tonumber(ARGV[at + 1])], tonumber(ARGV[at + 2])
    at = at + 3
    if kind == 'ack' then
      acknowledge(claim, at + 1, count)
      at = at + 1 + count
    else
      for _ = 1, count do
        place = place + 1
        if settle(claim, kind, ARGV[at], at + 1) and carry then
          carry()
        end
        at = at + OPERANDS[kind]
      end
    end
    close(claim)
  end
  enterAgain()
  writeRunning()
  finishKeyed()
  if hasControls then
    wakeFreed()
  end
  wake(giver or '', giver ~= '' and giverName or '')
  return exceptions
end
