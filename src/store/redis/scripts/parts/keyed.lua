-- keyed: messages with a key, and whose turn it is: `core/keys.ts` says what a turn is. A message without a key never comes here.
-- Uses base, lines and rates.
--
--   line:TOPIC\vKEY:P   ZSET  member -> dueAt: what waits of one key, P = 0 1 2. The payload has TOPIC\vKEY in place of the topic
--   line:TOPIC\v:P      ZSET  the same of all keys of the topic; in `lines` and `heads` as other lines are, for lists and counts
--   turns:TOPIC:P       ZSET  KEY -> turn; without the keys that must wait for something else than the clock
--   turns               ZSET  TOPIC:P -> the first turn
--   keys:TOPIC          ZSET  (all 0) the keys of which something waits, or is counted
--   counts:TOPIC        HASH  KEY -> what is counted of it, mostly nothing: how many run, how many hold it, when its rate is
--                             filled, how much of its weight is used in each priority
--   held:TOPIC\vKEY     ZSET  P and member -> dueAt: retries of a serial key
--   limits:TOPIC        HASH  KEY -> a limit of its own: weight, interval, burst, concurrency; 0 where there is none
--   keyed               HASH  topic -> '', or how far its keys were told of a change of limits: a cursor of HSCAN
--   resting             ZSET  TOPIC\vKEY -> when the rate of a key has recovered of which nothing else is left
--
--          put, retry, ...                 turn              claim_due
--   ──────► line:TOPIC\vKEY:P ──first──► turns:TOPIC:P ──────────────────► claim
--
-- Who changes something of a key says so; `finishKeyed`, at the end of the script, works out whose turn it is. What was
-- counted of a message that runs is in its claim: only then its line there has the name of the key.
--
-- Danger: scores of turns are later than all that was served before them, by microseconds. A turn is a moment of a message, a
-- whole millisecond, or a stamp, which mostly is none.

local turning

local function keyedTools()
  local KEYED, TURNS, RESTING = PREFIX .. 'keyed', PREFIX .. 'turns', PREFIX .. 'resting'
  local UNLIMITED = { weight = 1, interval = 0, burst = 0, concurrency = 0 }
  local RANKS = { '0', '1', '2' }
  local UNUSED = { ['0'] = 0, ['1'] = 0, ['2'] = 0 }
  -- No stamp is later than this.
  local STAMPS_MS = 1
  local rates, tools = rateTools(), {}
  local try = redis.pcall

  -- What is no list, because somebody changed the type of a key, is an empty one.
  local function ask(...)
    local reply = try(...)
    return reply.err and {} or reply
  end

  local function count(word)
    local value = tonumber(word)
    return value and value == value and math.max(0, value) or 0
  end

  local function partsOf(line)
    local at = keyAt(line)
    return sub(line, #LINE_PREFIX + 1, at - 1), sub(line, at + 1, -3), sub(line, -1)
  end

  local function named(kind, topic)
    return PREFIX .. kind .. ':' .. topic
  end

  local function heldLine(topic, key)
    return PREFIX .. 'held:' .. topic .. '\v' .. key
  end

  local function ownLine(topic, key, rank)
    return lineOf(topic .. '\v' .. key, rank)
  end

  -- The line of all keys of a topic, of the priority of this one.
  local function lineOfAll(line)
    return sub(line, 1, keyAt(line)) .. sub(line, -2)
  end

  local function textOf(turn)
    return string.format(turn == math.floor(turn) and '%.0f' or '%.3f', turn)
  end

  -- topic -> names of keys in order, and by name what changed: how many run and hold it more or less, and for a key of
  -- which messages only entered, by priority the first moment of those.
  local changed, changedLines = {}, {}
  -- By topic and priority, `lineOfAll`.
  local allLines = {}
  local function lineAround(line, topic, rank)
    local its = allLines[topic] or {}
    allLines[topic] = its
    its[rank] = its[rank] or lineOfAll(line)
    return its[rank]
  end

  local function changeOf(topic, key)
    local its = changed[topic]
    if not its then
      its = { names = {}, byName = {} }
      changed[topic] = its
    end
    local change = its.byName[key]
    if not change then
      change = { running = 0, held = 0, entered = {} }
      its.byName[key], its.names[#its.names + 1] = change, key
    end
    return change
  end

  function tools.touch(topic, key)
    changeOf(topic, key).isMoved = true
  end

  -- Whether this topic has limits of keys, and which hold for all of them; false without.
  local rulesOf = {}
  function tools.rules(topic)
    if rulesOf[topic] == nil then
      local record = try('HGET', CONTROLS, topic)
      local words = type(record) == 'string' and { string.match(record, ' k (%S+) (%S+) (%S+) (%S+)$') } or {}
      local terms = { weight = 1, interval = count(words[1]), burst = count(words[2]), concurrency = count(words[3]) }
      rulesOf[topic] = words[1] and { terms = terms, hasOwn = words[4] ~= '0' } or false
    end
    return rulesOf[topic]
  end

  local function ownTerms(record, terms)
    local weight, interval, burst, concurrency = string.match(record, '^(%S+) (%S+) (%S+) (%S+)$')
    local own = { weight = math.max(1, count(weight)), interval = count(interval), burst = count(burst) }
    own.concurrency = count(concurrency)
    if own.interval == 0 and own.concurrency == 0 then
      own.interval, own.burst, own.concurrency = terms.interval, terms.burst, terms.concurrency
    end
    return own
  end

  -- What each of these keys is allowed.
  function tools.terms(topic, names)
    local rules, found = tools.rules(topic), {}
    local records = rules and rules.hasOwn and ask('HMGET', named('limits', topic), unpack(names)) or {}
    for index = 1, #names do
      found[index] = rules and rules.terms or UNLIMITED
      if records[index] then
        found[index] = ownTerms(records[index], found[index])
      end
    end
    return found
  end

  -- What is counted of each of these keys.
  function tools.counts(topic, names)
    local records, found = ask('HMGET', named('counts', topic), unpack(names)), {}
    for index = 1, #names do
      local record = records[index] or '0'
      if #record < 5 then
        found[index] = { running = count(record), held = 0, filled = 0, used = UNUSED }
      else
        local running, held, filled, a, b, c = string.match(record, '^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+)$')
        found[index] = { running = count(running), held = count(held), filled = count(filled) }
        found[index].used = { ['0'] = count(a), ['1'] = count(b), ['2'] = count(c) }
      end
      found[index].isKept = records[index] and true
    end
    return found
  end

  function tools.isFull(state, terms)
    return terms.concurrency > 0 and state.running >= terms.concurrency
  end

  -- When its rate allows another start.
  function tools.opensAt(state, terms)
    return terms.interval > 0 and math.ceil(rates.nextStart(terms.interval, terms.burst, state.filled)) or 0
  end

  -- How many may start now.
  function tools.left(state, terms)
    local left = terms.concurrency > 0 and terms.concurrency - state.running or math.huge
    if terms.interval > 0 then
      local nextAt = rates.nextStart(terms.interval, terms.burst, state.filled)
      left = math.min(left, math.floor((now - nextAt) / terms.interval) + 1)
    end
    return math.max(0, left)
  end

  function tools.charge(state, terms, starts)
    if terms.concurrency > 0 then
      state.running = state.running + starts
    end
    if terms.interval > 0 then
      state.filled = rates.filledUntil(terms.interval, terms.burst, state.filled) + starts * terms.interval
    end
  end

  -- The earliest of the retries that hold a serial key: its priority, member and moment.
  function tools.holder(topic, key, state, terms)
    if terms.concurrency ~= 1 or state.held == 0 then
      return nil
    end
    local first = ask('ZRANGE', heldLine(topic, key), 0, 0, 'WITHSCORES')
    return first[1] and { rank = sub(first[1], 1, 1), member = sub(first[1], 2), due = first[2] }
  end

  -- Mostly nothing but how many run, which has no blank.
  local function recordOf(state)
    local used = state.used
    if state.held == 0 and state.filled <= now and used == UNUSED and state.running < 10000 then
      return text(state.running)
    end
    local numbers = { text(state.running), text(state.held), state.filled > now and textOf(state.filled) or '0' }
    numbers[4], numbers[5], numbers[6] = text(used['0']), text(used['1']), text(used['2'])
    return table.concat(numbers, ' ')
  end

  function tools.keepCounts(topic, keys, states)
    local kept, gone = {}, {}
    for index, key in ipairs(keys) do
      local state = states[index]
      local used = state.used
      local isUsed = used['0'] + used['1'] + used['2'] > 0
      if state.running > 0 or state.held > 0 or state.filled > now or (isUsed and state.isWaiting) then
        kept[#kept + 1], kept[#kept + 2] = key, recordOf(state)
        if not state.isWaiting and state.running == 0 and state.held == 0 then
          try('ZADD', RESTING, textOf(state.filled), topic .. '\v' .. key)
        end
      elseif state.isKept then
        gone[#gone + 1] = key
      end
      state.isKept = kept[#kept - 1] == key
    end
    if #kept > 0 then
      try('HSET', named('counts', topic), unpack(kept))
    end
    if #gone > 0 then
      try('HDEL', named('counts', topic), unpack(gone))
    end
  end

  -- By priority, what changes among the turns of a topic: keys with their turns, and keys that have none; and of which a claim
  -- has seen the first, so that `turns` must say what is there.
  function tools.moves()
    return { ['0'] = { {}, {} }, ['1'] = { {}, {} }, ['2'] = { {}, {} }, seen = {} }
  end

  function tools.move(moves, rank, key, turn)
    local into, from = unpack(moves[rank])
    if turn then
      into[#into + 1], into[#into + 2] = textOf(turn), key
    else
      from[#from + 1] = key
    end
  end

  -- Writes them down. Whose first turn comes earlier than the head of their topic, those who watch it are woken for.
  function tools.make(moves, topic)
    local names, lines = {}, {}
    for index, rank in ipairs(RANKS) do
      names[index], lines[index] = topic .. ':' .. rank, lineOf(topic, rank)
    end
    local before, earliest = ask('ZMSCORE', TURNS, unpack(names)), nil
    for index, rank in ipairs(RANKS) do
      local into, from = unpack(moves[rank])
      local line = named('turns', names[index])
      if #into > 0 then
        try('ZADD', line, unpack(into))
      end
      if #from > 0 then
        try('ZREM', line, unpack(from))
      end
      local isSeen = moves.seen[rank] or #into + #from > 0
      local first = isSeen and ask('ZRANGE', line, 0, 0, 'WITHSCORES')[2]
      if first and first ~= before[index] then
        try('ZADD', TURNS, first, names[index])
        if not before[index] or tonumber(first) < tonumber(before[index]) then
          earliest = math.min(earliest or math.huge, tonumber(first))
        end
      elseif isSeen and not first and before[index] then
        try('ZREM', TURNS, names[index])
      end
    end
    if earliest then
      local heads = call('ZMSCORE', HEADS, unpack(lines))
      for index = 1, 3 do
        local isEarlier = heads[index] and tonumber(heads[index]) <= earliest
        if isEarlier or (before[index] and tonumber(before[index]) <= earliest) then
          return
        end
      end
      rouse(topic, earliest)
    end
  end

  -- Whether a turn to come is a stamp, and not the moment of a message.
  local function isStamp(turn)
    return turn - now < STAMPS_MS and turn ~= math.floor(turn)
  end

  -- The turn of a key whose first message is due then. What comes with a moment that has passed begins as if it was served
  -- now. `before`: its turn until now.
  local function turnAt(due, before)
    if before and (before <= now or isStamp(before)) then
      return math.max(before, due)
    end
    return math.max(due, due < now and now or 0)
  end

  -- As `turnAt` where messages entered, and none left: the first is that which comes first.
  local function turnWith(due, before)
    if before and (before <= now or isStamp(before)) then
      return before
    end
    return math.min(before or math.huge, turnAt(due))
  end

  -- The priorities in which messages with keys of this topic wait, or have a turn.
  local function ranksOf(topic)
    local lines, turns, found = {}, {}, {}
    for index, rank in ipairs(RANKS) do
      lines[index], turns[index] = lineOf(topic .. '\v', rank), topic .. ':' .. rank
    end
    local heads, firsts = call('ZMSCORE', HEADS, unpack(lines)), ask('ZMSCORE', TURNS, unpack(turns))
    for index, rank in ipairs(RANKS) do
      if heads[index] or firsts[index] then
        found[#found + 1] = rank
      end
    end
    return found
  end

  -- The turns of a key that nothing holds, after messages entered and none left.
  local function turnsWith(entered, state, terms, before)
    state.isWaiting = true
    if tools.isFull(state, terms) then
      return {}
    end
    local turns, opensAt = {}, tools.opensAt(state, terms)
    for rank, turn in pairs(before) do
      turns[rank] = turn
    end
    for rank, due in pairs(entered) do
      turns[rank] = math.max(turnWith(due, before[rank]), opensAt)
    end
    return turns
  end

  -- Looks at a key as a whole. Returns its turns by priority.
  local function turnsOf(topic, key, state, terms, before, ranks)
    if terms.concurrency == 0 and state.held > 0 then
      try('ZREMRANGEBYRANK', heldLine(topic, key), 0, -1)
      state.held = 0
    end
    if terms.weight == 1 then
      state.used = UNUSED
    end
    local turns, opensAt = {}, tools.opensAt(state, terms)
    state.isWaiting = tools.isFull(state, terms)
    if state.isWaiting then
      return turns -- Whether something waits does not matter: it runs.
    end
    local holder = tools.holder(topic, key, state, terms)
    for _, rank in ipairs(ranks) do
      local due = ask('ZRANGE', ownLine(topic, key, rank), 0, 0, 'WITHSCORES')[2]
      state.isWaiting = state.isWaiting or due ~= nil
      if due and holder then
        due = holder.rank == rank and holder.due
      end
      turns[rank] = due and math.max(turnAt(tonumber(due), before[rank]), opensAt)
    end
    return turns
  end

  -- The turns of these keys until now, by priority.
  local function standing(topic, names, ranks)
    local found = {}
    for _, rank in ipairs(ranks) do
      found[rank] = ask('ZMSCORE', named('turns', topic .. ':' .. rank), unpack(names))
    end
    return found
  end

  -- Gives keys of a topic their places. `served`: by key and priority, the turns of those that were served.
  -- `changes`: by key, what entered, where nothing else happened.
  function tools.restand(topic, names, states, terms, served, moves, changes)
    local ranks = ranksOf(topic)
    local found, there, gone = standing(topic, names, ranks), {}, {}
    for index, key in ipairs(names) do
      local state, before, present = states[index], {}, {}
      local isListed = state.isKept
      for _, rank in ipairs(ranks) do
        present[rank] = found[rank][index] and tonumber(found[rank][index])
        isListed = isListed or present[rank]
        before[rank] = served[key] and served[key][rank] or present[rank]
      end
      local turns
      if changes and not changes[key].isMoved and terms[index].weight == 1 and state.held == 0 then
        turns = turnsWith(changes[key].entered, state, terms[index], before)
      else
        turns = turnsOf(topic, key, state, terms[index], before, ranks)
      end
      for _, rank in ipairs(ranks) do
        if turns[rank] ~= present[rank] and (turns[rank] or present[rank]) then
          tools.move(moves, rank, key, turns[rank])
        end
      end
      local isThere = state.isWaiting or state.running > 0 or state.held > 0 or state.filled > now
      if not isThere then
        gone[#gone + 1] = key
      elseif not isListed then
        there[#there + 1] = key
      end
    end
    tools.keepCounts(topic, names, states)
    tools.make(moves, topic)
    tools.keepNames(topic, there, gone)
  end

  -- Messages of keys without limits entered, and none left: nothing is read but turns.
  local function standNew(topic, names, byName)
    local ranks, moves, there = ranksOf(topic), tools.moves(), {}
    local found = standing(topic, names, ranks)
    for index, key in ipairs(names) do
      local isThere = false
      for _, rank in ipairs(ranks) do
        isThere = isThere or found[rank][index]
      end
      if not isThere then
        there[#there + 1] = key
      end
      for rank, due in pairs(byName[key].entered) do
        local before = found[rank][index] and tonumber(found[rank][index])
        local turn = turnWith(due, before)
        if turn ~= before then
          tools.move(moves, rank, key, turn)
        end
      end
    end
    tools.make(moves, topic)
    tools.keepNames(topic, there, {})
  end

  local function finishTopic(topic, names, byName)
    local isMoved = tools.rules(topic) and true
    for _, key in ipairs(names) do
      isMoved = isMoved or byName[key].isMoved
    end
    if not isMoved then
      return standNew(topic, names, byName)
    end
    local states = tools.counts(topic, names)
    for index, key in ipairs(names) do
      local state, change = states[index], byName[key]
      state.running = math.max(0, state.running + change.running)
      state.held = math.max(0, state.held + change.held)
    end
    tools.restand(topic, names, states, tools.terms(topic, names), {}, tools.moves(), byName)
  end

  -- These keys of a topic are there, and those are not any more.
  function tools.keepNames(topic, there, gone)
    if #there > 0 then
      local entries = {}
      for index, key in ipairs(there) do
        entries[2 * index - 1], entries[2 * index] = '0', key
      end
      try('ZADD', named('keys', topic), unpack(entries))
      try('HSETNX', KEYED, topic, '')
    end
    if #gone > 0 then
      try('ZREM', named('keys', topic), unpack(gone))
    end
  end

  -- The line of all keys of a topic is listed as long as something is in it.
  function tools.keepLine(all)
    local first = ask('ZRANGE', all, 0, 0, 'WITHSCORES')[2]
    if first then
      call('ZADD', HEADS, first, all)
      call('ZADD', LINES, '0', all)
    else
      call('ZREM', HEADS, all)
      call('ZREM', LINES, all)
    end
  end

  function tools.finish()
    for all in pairs(changedLines) do
      tools.keepLine(all)
    end
    for topic, its in pairs(changed) do
      finishTopic(topic, its.names, its.byName)
    end
    changed, changedLines = {}, {}
  end

  -- New messages, due and member in turn, entered the line of a key; `added` keeps what is added to the line of all.
  function tools.enter(line, members, earliest, added)
    local topic, key, rank = partsOf(line)
    local entered, all = changeOf(topic, key).entered, lineAround(line, topic, rank)
    entered[rank] = math.min(entered[rank] or math.huge, earliest)
    local into = added[all] or {}
    added[all], changedLines[all] = into, true
    for index = 1, #members do
      into[#into + 1] = members[index]
    end
  end

  function tools.stand(line, due, member)
    local topic, key = partsOf(line)
    local all = lineOfAll(line)
    try('ZADD', all, due, member)
    changeOf(topic, key).isMoved, changedLines[all] = true, true
  end

  function tools.release(line, member)
    local topic, key, rank = partsOf(line)
    local change = changeOf(topic, key)
    change.isMoved = true
    if try('ZREM', heldLine(topic, key), rank .. member) == 1 then
      change.held = change.held - 1
    end
  end

  function tools.unstand(line, member)
    local all = lineOfAll(line)
    try('ZREM', all, member)
    changedLines[all] = true
    tools.release(line, member)
  end

  -- A retry holds its key if that is serial.
  function tools.hold(line, due, member)
    local topic, key, rank = partsOf(line)
    if tools.terms(topic, { key })[1].concurrency ~= 1 then
      return
    end
    if try('ZADD', heldLine(topic, key), due, rank .. member) == 1 then
      local change = changeOf(topic, key)
      change.held = change.held + 1
    end
  end

  -- So many messages that were counted run more or less. Returns the line under which the topic counts them.
  function tools.count(line, by)
    local topic, key, rank = partsOf(line)
    if key ~= '' then
      local change = changeOf(topic, key)
      change.running, change.isMoved = change.running + by, true
    end
    return lineAround(line, topic, rank)
  end

  tools.UNUSED, tools.UNLIMITED = UNUSED, UNLIMITED
  tools.KEYED, tools.TURNS, tools.RESTING, tools.RANKS = KEYED, TURNS, RESTING, RANKS
  tools.ask, tools.named, tools.ownLine, tools.heldLine = ask, named, ownLine, heldLine
  return tools
end

keyed = function()
  turning = turning or keyedTools()
  return turning
end

local function finishKeyed()
  if turning then
    turning.finish()
  end
end
