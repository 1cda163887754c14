-- claim_due: hands out what is due for the caller's topics, and says when to ask again.
-- uses: base claims lines waking watch rates keyed failures workers remembered controls gates serving
--
-- KEYS      those of `base`, the new claim, then for up to BY_NAME_MAX wants their lines: of priority 0, of 1, of 2
-- ARGV      now, channel, limit, lease in ms, lead in ms, bytes, owner, facts or '',
--           of a worker that sleeps and hears wake-ups its name, else '', its fallback in ms (and, after a blank, its longest sleep), its set of topics and the set
--           of its claim before; how many wants, how many can start at once: in all and of each want, one text; the limits
--           of the wants, for more wants than BY_NAME_MAX their topics; then the topics of which the worker can take none now
-- reply     now, when to ask again ('NO_TASK', 'EXPIRED' or ms, with '=' before it if nothing comes ahead of it), how many
--           messages had no body and were dropped,
--           rows of three for each line: its number (priority * wants + want, from 0), how many messages came before,
--           how many values of the dues belong to the lines up to this one;
--           ids, payloads; dues: place (from 0) from which on it holds, dueAt;
--           rows of four for those that failed before: place (from 1), attempt, firstDueAt, lapses;
--           the numbers (from 0) of wants whose topic has a limit now;
--           for a worker that sleeps: in how many ms it looks again; in how many it sees to a lease that ends, or '';
--           where some have keys, the numbers (from 0) of those wants
--
-- Idea: `heads` tells which of the wanted lines have something due. From those, priority by priority and in the order of
-- wants, the first messages go into one claim. Everything is read before anything is written. A topic that is paused or
-- has a limit has a gate. Where messages have keys, their turns stand beside the line: see `serving`. Of many workers that sleep two are told when a topic's first message can be had, and wake for it:
-- see `watch`.
--
-- upholds   P1 nothing beyond now + lead     P3 out of its line and into a claim in one step
--           P6 the attempt is counted here   P7 the order of a line is that of its members, higher priorities first
--           P8 the first write needs no memory: a full server still hands out work
--           P14 nothing of a paused topic, and no more than its limits allow, which is charged here
-- cost      O(log n) for each message, O(1) for each want; at most `bytes` of bodies, and READ_BYTES_MAX; a publish for each
--           topic whose watcher has no more room

local BY_NAME_MAX = 50

local leftOver, leaseMs, leadMs = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local bytes = math.min(tonumber(ARGV[6]), READ_BYTES_MAX)
local sleeper, fallbackMs, lookMsMax = ARGV[9], tonumber(ARGV[10]), LOOK_MS_MAX
if sleeper ~= '' and not fallbackMs then
  fallbackMs, lookMsMax = string.match(ARGV[10], '^(%S+) (%S+)$')
  fallbackMs, lookMsMax = tonumber(fallbackMs), tonumber(lookMsMax)
end
local wants = tonumber(ARGV[13])
local limit = leftOver
local horizon = now + leadMs
local nowText, horizonText = string.format('%.3f', now), string.format('%.3f', horizon)
local CLAIM = KEYS[PLACES_AT]

local WANTS_AT = 14
local TOPICS_AT = WANTS_AT + wants
local BUSY_AT = wants > BY_NAME_MAX and TOPICS_AT + wants or TOPICS_AT

-- The wanted lines by number (from 1), those of them that are due, and the first moments that are not; of lines that have
-- a gate, the gate keeps those.
local lines, dueLines, heads, isMore = {}, {}, {}, false
-- By moment: beyond this one nothing was looked at.
local seenUntil = math.huge

-- See `gates`; nothing where the queue has no controls.
local gates

-- Of wanted topics that have keys: `serving`, if there are any; by number of a line, the first turn beside it (false where there
-- is none) and its own head; the topics; whether their keys know all limits.
local byTurn = { turns = {}, heads = {}, topics = {}, areTold = true }

local function gateOf(number)
  return gates and gates.byWant[(number - 1) % wants + 1]
end

local topics = {}
if (hasControls or hasKeyed) and wants > 0 then
  for want = 1, wants do
    topics[want] = wants <= BY_NAME_MAX and topicOf(KEYS[PLACES_AT + want]) or ARGV[TOPICS_AT + want]
  end
end
if hasControls and wants > 0 then
  gates = openGates(topics, ARGV[WANTS_AT], leadMs)
end

local function readTurns(firsts)
  for want, topic in ipairs(topics) do
    if firsts[topic .. ':0'] ~= nil then
      for priority = 0, 2 do
        byTurn.turns[priority * wants + want] = firsts[topic .. ':' .. priority]
      end
    end
  end
end

if hasKeyed and wants > 0 then
  writeEvenWhenFull()
  byTurn.serving = servingTools()
  local firsts
  byTurn.topics, firsts, byTurn.areTold = byTurn.serving.open(topics)
  readTurns(firsts)
end
do
  -- By moment: how many due lines, and how many lines to come, are looked at before every wanted one is asked for.
  local DUE_LINES_MAX, COMING_LINES_MAX = 1000, 100

  local function noteGated(gate, number, head)
    if gate == gates.CLOSED then
      return
    end
    gate.heads[number] = tonumber(head)
    if gate.heads[number] <= (gate.limited and now or horizon) and gate.pausedUntil <= now then
      dueLines[#dueLines + 1] = number
    end
  end

  -- The first message of a wanted line is due then.
  local function note(number, head)
    if byTurn.turns[number] ~= nil then
      byTurn.heads[number] = head and tonumber(head) or nil
      head = math.min(byTurn.turns[number] or math.huge, byTurn.heads[number] or math.huge)
      head = head < math.huge and head or nil
    end
    local gate = gates and head and gateOf(number)
    if gate then
      noteGated(gate, number, head)
    elseif head and tonumber(head) <= horizon then
      dueLines[#dueLines + 1] = number
    elseif head then
      heads[number] = tonumber(head)
    end
  end

  local function askByName()
    local found = wants > 0 and call('ZMSCORE', HEADS, unpack(lines)) or {}
    for number = 1, 3 * wants do
      note(number, found[number])
    end
  end

  -- Many topics: look at the due end of `heads` instead, and pick out what is wanted. False where that shows too little.
  local function askByMoment()
    local wantOf = {}
    for want = 1, wants do
      wantOf[ARGV[TOPICS_AT + want]] = want
    end
    local function numberOf(line)
      local want, priority = wantOf[topicOf(line)], tonumber(sub(line, -1))
      local number = want and priority and priority * wants + want
      if number then
        lines[number] = line
      end
      return number
    end
    local due = call('ZRANGEBYSCORE', HEADS, '-inf', horizonText, 'LIMIT', 0, DUE_LINES_MAX)
    local coming = call('ZRANGEBYSCORE', HEADS, '(' .. horizonText, '+inf', 'WITHSCORES', 'LIMIT', 0, COMING_LINES_MAX)
    for index = 1, #coming, 2 do
      local number = numberOf(coming[index])
      local gate = number and gateOf(number)
      if gate then
        gate.heads[number] = tonumber(coming[index + 1])
      elseif number then
        heads[number] = tonumber(coming[index + 1])
      end
    end
    if #coming == 2 * COMING_LINES_MAX then
      seenUntil = tonumber(coming[#coming])
    end
    if #due == DUE_LINES_MAX or (seenUntil < math.huge and not next(heads)) then
      return false
    end
    for _, line in ipairs(due) do
      local number = numberOf(line)
      local gate = number and gateOf(number)
      if not gate then
        dueLines[#dueLines + 1] = number
      elseif gate ~= gates.CLOSED then
        noteGated(gate, number, call('ZSCORE', HEADS, line))
      end
    end
    table.sort(dueLines)
    return true
  end

  if wants <= BY_NAME_MAX then
    for number = 1, 3 * wants do
      lines[number] = KEYS[PLACES_AT + number]
    end
    askByName()
  elseif #byTurn.topics > 0 or not askByMoment() then
    heads, seenUntil = {}, math.huge
    for number = 1, 3 * wants do
      local want = (number - 1) % wants + 1
      lines[number] = lineOf(ARGV[TOPICS_AT + want], (number - want) / wants)
    end
    askByName()
  end
end

local groups, ids, values, dues, facts = {}, {}, {}, {}, {}
local taken, orphans = 0, 0
local held, heldLines = {}, {}
local room, removals = {}, {}
-- By want: since when the first that was taken could be had.
local tookFrom = {}

do
  -- So many bodies are read first, then more at a time: they may be large.
  local CHUNK_FIRST = 4

  -- Whether a payload belongs to the stamped member that led to it. Not after somebody deleted a payload and its id was
  -- used again: the old member must not hand out the new message. The last digits tell; comparing them makes no strings.
  local function hasStampOf(value, member)
    local a, b, c, d = byte(member, STAMP_LENGTH - 3, STAMP_LENGTH)
    local w, x, y, z = byte(value, STAMP_LENGTH - 2, STAMP_LENGTH + 1)
    return byte(value, 1) == MARK_BYTE and d == z and c == y and b == x and a == w
  end

  -- A score is dear to print. Bursts and backlogs often share theirs: then it is asked for twice, not for each.
  local function duesOf(line, found, from)
    local due = call('ZSCORE', line, found[1])
    if #found == 1 or call('ZSCORE', line, found[#found]) == due then
      return due, nil
    end
    return due, call('ZRANGE', line, from, from + #found - 1, 'WITHSCORES')
  end

  local heldPlaces = {}
  local function placeIn(line)
    if not heldPlaces[line] then
      heldPlaces[line] = #heldLines + 1
      heldLines[heldPlaces[line]] = line
    end
    return heldPlaces[line]
  end

  -- Puts these messages of a line into the claim. `itsLines`: where they come from several, that of each. Returns how many it
  -- looked at.
  local function grant(number, line, found, sharedDue, scored, itsLines)
    local before, looked, lineNumber = taken, 0, heldPlaces[line] or #heldLines + 1
    -- What the claim keeps of a message: the same text for all that share a moment and have no stamp.
    local lastDue, entry, stampedEntry
    local chunkSize = CHUNK_FIRST
    while looked < #found and bytes > 0 do
      local chunk, isStamped = {}, {}
      for index = 1, math.min(chunkSize, #found - looked) do
        local member = found[looked + index]
        if byte(member, ID_AT - 1) == MARK_BYTE then
          isStamped[index] = true
          member = sub(member, ID_AT)
        end
        chunk[index] = member
      end
      local read = call('HMGET', PAYLOAD, unpack(chunk))
      local failed = hasFailures and call('HMGET', FAILURES, unpack(chunk))
      for index = 1, #chunk do
        local value, member = read[index], found[looked + 1]
        if value and bytes < #value and taken > 0 then
          bytes = 0
          break
        end
        looked = looked + 1
        local isIts = value and byte(value, 1) ~= MARK_BYTE
        if isStamped[index] then
          isIts = value and hasStampOf(value, member)
        end
        if isIts then
          local due = scored and scored[2 * looked] or sharedDue
          local itsLine = itsLines and itsLines[looked]
          if itsLine and (lastDue == nil or heldPlaces[itsLine] ~= lineNumber) then
            lineNumber, lastDue = placeIn(itsLine), nil
          end
          if due ~= lastDue then
            lastDue, entry, stampedEntry = due, makeEntry(due, lineNumber, ''), due .. ' ' .. lineNumber .. ' '
            dues[#dues + 1], dues[#dues + 2] = taken, due
          end
          bytes, taken = bytes - #value, taken + 1
          ids[taken], values[taken] = chunk[index], value
          held[2 * taken + 1] = chunk[index]
          held[2 * taken + 2] = isStamped[index] and stampedEntry .. sub(member, 1, STAMP_LENGTH) or entry
          if failed and failed[index] then
            local attempts, lapses, firstDueAt = readFailure(failed[index])
            local row = #facts
            facts[row + 1], facts[row + 2], facts[row + 3], facts[row + 4] = taken, attempts + 1, firstDueAt, lapses
          end
        else
          orphans = orphans + 1
        end
      end
      chunkSize = math.min(chunkSize * 2, READ_CHUNK)
    end
    if taken > before then
      if not itsLines then
        heldLines[lineNumber], heldPlaces[line] = line, lineNumber
      end
      countRunning(line, taken - before)
      -- A gate may just have opened: what lay behind it was not left behind by choice.
      local want, first = (number - 1) % wants + 1, gateOf(number) and now or tonumber(sharedDue)
      tookFrom[want] = math.min(tookFrom[want] or first, first)
      local row = #groups
      groups[row + 1], groups[row + 2], groups[row + 3] = number - 1, before, #dues
    end
    return looked
  end

  -- Puts the first messages of a line into the claim, but for so many that are taken already. Returns how many it looked at.
  local function take(number, line, size, untilText, from)
    local found = call('ZRANGE', line, '-inf', untilText, 'BYSCORE', 'LIMIT', from, size)
    if #found == 0 then
      return 0
    end
    return grant(number, line, found, duesOf(line, found, from))
  end

  -- The same where some have keys: those that have none go by their moments, the others by their turns.
  local function serve(number, line, size, dueUntil)
    local topic, rank, before, looked = topicOf(line), sub(line, -1), taken, 0
    local isPlain = byTurn.heads[number] ~= nil
    while taken - before < size and bytes > 0 do
      local left = size - (taken - before)
      local first = isPlain and call('ZRANGE', line, looked, looked, 'WITHSCORES')[2]
      local plain = first and tonumber(first) <= dueUntil and tonumber(first) or math.huge
      local turn = byTurn.serving.turn(topic, rank, dueUntil, left)
      if plain == math.huge and turn == math.huge then
        break
      elseif plain <= turn then
        looked = looked + take(number, line, left, string.format('%.3f', math.min(dueUntil, turn)), looked)
      else
        local found, scored, itsLines, entries = byTurn.serving.draw(topic, rank, dueUntil, left, plain)
        byTurn.serving.given(entries, grant(number, lineOf(topic .. '\v', rank), found, text(math.min(turn, now)), scored, itsLines))
      end
    end
    return looked
  end

  for _, number in ipairs(dueLines) do
    local want = (number - 1) % wants + 1
    room[want] = room[want] or tonumber(ARGV[WANTS_AT + want])
    local gate = gateOf(number)
    local size = math.min(leftOver, room[want], gate and gates.left(gate) or math.huge)
    if size > 0 and bytes > 0 then
      local before = taken
      local isLimited = gate and gate.limited
      if byTurn.turns[number] ~= nil then
        removals[number] = serve(number, lines[number], size, isLimited and now or horizon)
      else
        removals[number] = take(number, lines[number], size, isLimited and nowText or horizonText, 0)
      end
      local count = taken - before
      leftOver, room[want] = leftOver - count, room[want] - count
      if gate then
        gates.charge(gate, count)
      end
    elseif not gate then
      isMore = true
    end
  end
end

if next(removals) or ARGV[8] ~= '' then
  writeEvenWhenFull()
end
if taken > 0 then
  held[1], held[2] = '', makeRecord(heldLines)
  call('HSET', CLAIM, unpack(held))
  call('ZADD', CLAIMS, text(math.ceil(now + leaseMs)), CLAIM)
end

-- The first moment of a line after the claim.
local function noteLeft(number, head)
  local gate = gateOf(number)
  if gate then
    gate.heads[number] = head
  else
    heads[number] = head
    isMore = isMore or (head and head <= horizon)
  end
end

for number, count in pairs(removals) do
  if count > 0 then
    call('ZREMRANGEBYRANK', lines[number], 0, count - 1)
  end
  local first = (byTurn.turns[number] == nil or count > 0) and left(lines[number])
  if byTurn.turns[number] == nil then
    noteLeft(number, first and tonumber(first))
  elseif count > 0 then
    byTurn.heads[number] = first and tonumber(first) or nil
  end
end
if byTurn.serving then
  isMore = byTurn.serving.commit() or not byTurn.areTold or isMore
  local firsts = byTurn.serving.firsts(byTurn.topics)
  readTurns(firsts)
  for number, turn in pairs(byTurn.turns) do
    local head = math.min(turn or math.huge, byTurn.heads[number] or math.huge)
    if gateOf(number) ~= (gates and gates.CLOSED) or not gates then
      noteLeft(number, head < math.huge and head or nil)
    end
  end
end
writeRunning()
if byTurn.serving then
  byTurn.serving.forget(byTurn.topics)
end
if ARGV[8] ~= '' then
  seen(ARGV[7], ARGV[8])
  pruneRemembered()
end

-- By want, when a topic's first message can be had by the clock alone; math.huge where none is left, or something else must
-- happen first, which wakes. Of many topics, those that were looked at.
local function attendable()
  local firsts = {}
  for want = 1, wants <= BY_NAME_MAX and wants or 0 do
    firsts[want] = math.huge
  end
  for want in pairs(tookFrom) do
    firsts[want] = math.huge
  end
  for number, head in pairs(heads) do
    local want = (number - 1) % wants + 1
    firsts[want] = math.min(firsts[want] or math.huge, head - leadMs)
  end
  for want, gate in pairs(gates and gates.byWant or {}) do
    if firsts[want] or next(gate.heads) and gate ~= gates.CLOSED then
      firsts[want] = gates.opensAt(gate)
    end
  end
  return firsts
end

-- Of a topic with a limit the asker can take what it can start at once.
local function roomLeft(want)
  local asked = tonumber(ARGV[WANTS_AT + want])
  local its = room[want] or asked
  local gate = gates and gates.byWant[want]
  if its == 0 or leftOver == 0 or (gate and gates.isBeyond(gate)) then
    return 'none'
  elseif gate and gate.limited then
    its, asked = gate.free, gate.offered
  end
  return (2 * its >= asked and 2 * leftOver >= limit) and 'enough' or 'some'
end

-- Who can take none now is not counted on.
local function resignBusy()
  local topics = { unpack(ARGV, BUSY_AT + 1) }
  local entries = #topics > 0 and call('HMGET', WATCH, unpack(topics)) or {}
  local shut = hasControls and #topics > 0 and openGates(topics, '', leadMs)
  for index, topic in ipairs(topics) do
    if entries[index] and string.find(entries[index], sleeper .. ' ', 1, true) then
      local stem, gate = lineOf(topic, ''), shut and shut.byWant[index]
      local its = call('ZMSCORE', HEADS, stem .. '0', stem .. '1', stem .. '2')
      local turns = hasKeyed and call('ZMSCORE', keyed().TURNS, topic .. ':0', topic .. ':1', topic .. ':2') or {}
      local hasHead = its[1] or its[2] or its[3] or turns[1] or turns[2] or turns[3]
      resign(topic, entries[index], sleeper, hasHead and not (gate and shut.isShut(gate)))
    end
  end
end

-- Takes its place in the lists of all that it wants. Returns when the first can be had that it watches, of topics without
-- a gate and of others, and when it looks again.
local function stand()
  local firsts, topics, order = attendable(), {}, {}
  for want in pairs(firsts) do
    order[#order + 1] = want
    topics[#topics + 1] = topicOf(lines[want] or lines[want + wants] or lines[want + 2 * wants])
  end
  local entries = #topics > 0 and call('HMGET', WATCH, unpack(topics)) or {}
  local lists, places, changed, fronts = {}, {}, {}, {}
  local nextAt, gatedAt = math.huge, math.huge
  for index, topic in ipairs(topics) do
    local want, entry = order[index], entries[index]
    local hasHead = firsts[want] < math.huge
    local isLying = tookFrom[want] and tookFrom[want] < now - LYING_MS
    if isFront(entry, sleeper) and roomLeft(want) == 'enough' and not isLying then
      fronts[#fronts + 1], places[index] = index, 1
    elseif hasHead or tookFrom[want] or entry then
      -- Nothing is written for a topic that never had a message.
      local list, isChanged, place = attend(topic, entry, sleeper, roomLeft(want), isLying, hasHead)
      if place or isChanged then
        lists[index], places[index], changed[index] = list, place, isChanged
      end
    end
    if hasHead and places[index] and places[index] <= WATCHERS then
      if gates and gates.byWant[want] then
        gatedAt = math.min(gatedAt, firsts[want])
      else
        nextAt = math.min(nextAt, firsts[want])
      end
      nextAt = math.min(nextAt, seenUntil - leadMs)
    end
  end
  local lookAt = math.ceil(now + fallbackMs)
  if leftOver == 0 then
    forgetLook(ARGV[11], sleeper)
  elseif not isMore then
    lookAt = nextLook(ARGV[11], sleeper, fallbackMs, math.min(nextAt, gatedAt) < math.huge, lookMsMax)
  end
  for _, index in ipairs(fronts) do
    if not string.find(entries[index], sleeper .. ' ' .. text(lookAt) .. '\n', 1, true) then
      lists[index] = readWatch(entries[index])
      places[index] = placeOf(lists[index], sleeper)
    end
  end
  for index, list in pairs(lists) do
    local own = places[index] and list[places[index]]
    if changed[index] or own.at ~= lookAt then
      if own then
        own.at = lookAt
      end
      writeWatch(topics[index], list, firsts[order[index]] < math.huge)
    end
  end
  return nextAt, gatedAt, lookAt
end

-- Those who look within the fallback see to the leases of others that end before their next look, all to those that have.
local function lapseWithin(lookAt)
  -- So many are looked at for one that others hold.
  local LAPSES_MAX = 20
  local first = call('ZRANGE', CLAIMS, 0, LAPSES_MAX - 1, 'WITHSCORES')
  for index = 1, #first, 2 do
    local at = tonumber(first[index + 1])
    if at <= now then
      return '0'
    elseif at > lookAt or lookAt > now + fallbackMs + 1 then
      return ''
    elseif ownerOf((claimIn(first[index]))) ~= ARGV[7] then
      return waiting(at - now)
    end
  end
  return ''
end

local nextAt, gatedAt, look, lapse = seenUntil - leadMs, gates and gates.close() or math.huge, '', ''
for _, head in pairs(heads) do
  nextAt = math.min(nextAt, head - leadMs)
end
isMore = isMore or gatedAt <= now
if sleeper ~= '' then
  try('HDEL', PAYLOAD, '')
  if ARGV[12] ~= ARGV[11] then
    forgetLook(ARGV[12], sleeper)
  end
  resignBusy()
  if wants > 0 then
    local lookAt
    nextAt, gatedAt, lookAt = stand()
    if not isMore then
      look, lapse = waiting(lookAt - now), lapseWithin(lookAt)
    end
  end
end
local nextTime = 'NO_TASK'
if isMore then
  nextTime = 'EXPIRED'
elseif gatedAt < nextAt then
  nextTime = '=' .. waiting(gatedAt - now)
elseif nextAt < math.huge then
  nextTime = waiting(nextAt - now)
end
local limited = gates and gates.limitedWants or {}
local reply = { nowText, nextTime, orphans, groups, ids, values, dues, facts, limited, look, lapse }
if #byTurn.topics > 0 then
  local places = {}
  for want, topic in ipairs(topics) do
    places[#places + 1] = byTurn.turns[want] ~= nil and want - 1 or nil
  end
  reply[#reply + 1] = places
end
return reply
