-- settle: ends leases: done, again later, back in its place, or dead.
-- uses: base claims lines watch failures
--
-- KEYS      those of `base`, then the claims
-- ARGV      now, channel, then groups of one kind and claim, in order, because the first settlement of a lease counts:
--           kind, place of the claim in KEYS, how many, and for each of them
--           'ack': id (before the first of them one '')     'release': id     'lapse': id, error
--           'retry': id, delay in ms, '1' if its lease had lapsed, else '0', error     'dead': id, reason, error
-- reply     the places (from 1) of those that are lost, and below zero of those that are refused; the others are settled
-- upholds   P4 nothing happens unless the message runs under exactly this token
--           P6 a release leaves the attempts as they were before the claim
--           P8 the first write needs no memory: a full server still lets work finish
-- cost      O(1) for each that is done, O(log n) for the others; no body is read; two publishes for each topic, at most 41

local OPERANDS = { release = 1, lapse = 2, retry = 4, dead = 3 }
local exceptions, place, at = {}, 0, 3

local waitingAgain, earliest = {}, {}
local function await(line, due, member)
  local into = waitingAgain[line] or {}
  waitingAgain[line] = into
  into[#into + 1], into[#into + 2] = due, member
  earliest[line] = math.min(earliest[line] or math.huge, tonumber(due))
end

-- The owner that gave everything back which others are woken for; '' where the owners should hear it too.
local giver, giverName

local linesOf = {}
local function lineIn(claim, number)
  linesOf[claim] = linesOf[claim] or linesIn(call('HGET', claim, ''))
  return linesOf[claim][number]
end

local function settle(claim, kind, id, operand)
  local entry = call('HGET', claim, id)
  if not entry then
    exceptions[#exceptions + 1] = place
    return
  end
  local retryAt = kind == 'retry' and dueOf(ARGV[operand])
  if kind == 'retry' and not retryAt then
    exceptions[#exceptions + 1] = -place
    return
  end
  local due, number, stamp = readEntry(entry)
  local line = lineIn(claim, number)
  if not line then
    line, stamp = headOf(call('HGET', PAYLOAD, id) or '')
  end
  call('HDEL', claim, id)
  countRunning(line, -1)
  if kind == 'ack' then
    call('HDEL', PAYLOAD, id)
    return forget(id)
  elseif kind == 'release' then
    local owner = ownerOf(claim)
    giver = (giver == nil or giver == owner) and owner or ''
    giverName = nameOf(claim)
    return await(line, due, memberOf(id, stamp))
  end
  giver = ''
  local attempts, lapses, firstDueAt = failureOf(id)
  firstDueAt = firstDueAt == 0 and tonumber(due) or firstDueAt
  if kind == 'lapse' then
    writeFailure(id, attempts + 1, lapses + 1, firstDueAt, 0, '', ARGV[operand])
    await(line, due, memberOf(id, stamp))
  elseif kind == 'retry' then
    lapses = ARGV[operand + 1] == '1' and lapses + 1 or 0
    writeFailure(id, attempts + 1, lapses, firstDueAt, 0, '', ARGV[operand + 2])
    await(line, text(retryAt), memberOf(id, stamp))
  else
    writeFailure(id, attempts + 1, lapses, firstDueAt, tonumber(due), ARGV[operand], ARGV[operand + 1])
    call('ZADD', DEAD, text(math.floor(now)), id)
    countDied(line, 1)
  end
end

-- Those of a claim that are done go together if all of them are held, else one by one.
local function acknowledge(claim, first, count)
  local last = first + count - 1
  local held = call('HMGET', claim, unpack(ARGV, first - 1, last))
  local isAll = true
  for index = 2, count + 1 do
    isAll = isAll and held[index]
  end
  if not isAll then
    for index = first, last do
      place = place + 1
      settle(claim, 'ack', ARGV[index])
    end
    return
  end
  local removed = call('HDEL', claim, unpack(ARGV, first, last))
  call('HDEL', PAYLOAD, unpack(ARGV, first, last))
  if hasFailures then
    call('HDEL', FAILURES, unpack(ARGV, first, last))
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

while at <= #ARGV do
  local kind, claim, count = ARGV[at], KEYS[tonumber(ARGV[at + 1])], tonumber(ARGV[at + 2])
  at = at + 3
  if kind == 'ack' then
    acknowledge(claim, at + 1, count)
    at = at + 1 + count
  else
    for _ = 1, count do
      place = place + 1
      settle(claim, kind, ARGV[at], at + 1)
      at = at + OPERANDS[kind]
    end
  end
  close(claim)
end

for line, members in pairs(waitingAgain) do
  call('ZADD', line, unpack(members))
  entered(line, earliest[line])
end
writeRunning()
wake(giver or '', giver ~= '' and giverName or '')
return exceptions
