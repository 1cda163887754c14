-- serving: hands out messages with keys in the order of turns. Uses keyed.
--
-- Idea: of a line of turns the first so many keys are read, and of each key its first messages. Then in laps: each key gives as
-- many as its weight says, and stands behind the others. Everything is read before anything is written: `commit` does that.
--
--   turns:mail:1   a 100   b 100.3   c 250     lap 1: a1 b1 c1    lap 2: a2 b2 c2 ...     a 400.001   c 400.001
--
-- cost      for each key two looks and what is written at once for all; for each message O(log n)

local function servingTools()
  -- Keys of which a rate has recovered, and that are told of a change of limits, in one claim.
  local RESTED_MAX, SWEPT_MAX = 1000, 200
  -- Above so many wants, a short list of topics with keys is read whole.
  local KEYED_HMGET_MAX = 100
  -- So often further keys are read where those before were held back.
  local LOADS_MAX = 5
  local STAMP_MS, STAMPS_MS, WITHIN_MS = 0.001, 0.1, 0.9995
  local tools, serving = keyed(), {}
  local ask, try = tools.ask, redis.pcall

  -- Turns up to this moment have come: those of messages are whole milliseconds, stamps lie a little behind.
  local function within(moment)
    return math.max(math.floor(moment) + WITHIN_MS, now + STAMPS_MS)
  end

  -- By place among these topics, how far the keys of each were told of a change, '' for all; nothing where it has no keys.
  local function keyedAmong(topics)
    if #topics <= KEYED_HMGET_MAX or call('HLEN', tools.KEYED) >= #topics then
      return call('HMGET', tools.KEYED, unpack(topics))
    end
    local all, found, placeOf = call('HGETALL', tools.KEYED), {}, {}
    for place, topic in ipairs(topics) do
      placeOf[topic] = place
    end
    for index = 1, #all, 2 do
      found[placeOf[all[index]] or 0] = all[index + 1]
    end
    return found
  end

  local function pruneRests()
    local rested = ask('ZRANGEBYSCORE', tools.RESTING, '-inf', string.format('%.3f', now), 'LIMIT', 0, RESTED_MAX)
    for _, name in ipairs(rested) do
      local at = string.find(name, '\v', 1, true) or #name
      tools.touch(sub(name, 1, at - 1), sub(name, at + 1))
    end
    if #rested > 0 then
      try('ZREM', tools.RESTING, unpack(rested))
    end
  end

  -- After its limits changed, some of a topic's keys may go on that could not, or the contrary. Returns whether all know.
  local function sweep(topic, cursor)
    local page = try('HSCAN', tools.named('counts', topic), cursor, 'COUNT', SWEPT_MAX)
    if page.err then
      page = { '0', {} }
    end
    for index = 1, #page[2], 2 do
      tools.touch(topic, page[2][index])
    end
    call('HSET', tools.KEYED, topic, page[1] == '0' and '' or page[1])
    return page[1] == '0'
  end

  -- The first turn of each line of these topics, by topic and priority; one that has come is now.
  local function firsts(topics)
    local names, found = {}, {}
    for index, topic in ipairs(topics) do
      for rank = 0, 2 do
        names[3 * index - 2 + rank] = topic .. ':' .. rank
      end
    end
    local turns = #names > 0 and call('ZMSCORE', tools.TURNS, unpack(names)) or {}
    for index, name in ipairs(names) do
      local turn = turns[index] and tonumber(turns[index])
      local isStamp = turn and turn ~= math.floor(turn)
      found[name] = isStamp and turn <= within(now) and math.min(turn, now) or turn or false
    end
    return found
  end

  -- Which of these topics have keys, in order; by topic and priority their first turns; whether their keys know all limits.
  function serving.open(topics)
    local cursors, found, isTold = keyedAmong(topics), {}, true
    for place, topic in ipairs(topics) do
      local cursor = cursors[place]
      if cursor then
        found[#found + 1] = topic
        isTold = (cursor == '' or sweep(topic, cursor)) and isTold
      end
    end
    pruneRests()
    tools.finish()
    return found, firsts(found), isTold
  end

  -- Of all keys of topics without limits of keys nothing is counted.
  local FREE = { state = { running = 0, held = 0, filled = 0, used = tools.UNUSED }, terms = tools.UNLIMITED, left = math.huge }

  -- What is counted of a key that was met, the same in all priorities.
  local known = {}

  local function learn(topic, names)
    local its = known[topic] or {}
    known[topic] = its
    if not tools.rules(topic) then
      return nil
    end
    local terms, states = tools.terms(topic, names), tools.counts(topic, names)
    for index, key in ipairs(names) do
      if not its[key] then
        local state = states[index]
        its[key] = { state = state, terms = terms[index], left = tools.left(state, terms[index]), served = {} }
        its[key].holder = tools.holder(topic, key, state, terms[index])
      end
    end
    return its
  end

  local plans, NONE = {}, {}

  -- The keys of a topic and priority in turn. `dueUntil`: what is due by then.
  local function planOf(topic, rank, dueUntil)
    local name = topic .. ':' .. rank
    local plan = plans[name]
    if not plan then
      plan = { topic = topic, rank = rank, name = tools.named('turns', name), dueUntil = dueUntil }
      plan.entries, plan.at, plan.later, plan.all, plan.loads = {}, 1, {}, {}, 0
      plan.line = lineOf(topic .. '\v', rank)
      plans[name], plans[#plans + 1] = plan, plan
    end
    return plan
  end

  -- Reads the next keys whose turn has come, at most so many.
  local function load(plan, size)
    local turns = ask('ZRANGE', plan.name, '-inf', string.format('%.4f', within(plan.dueUntil)), 'BYSCORE', 'LIMIT', #plan.all, size,
      'WITHSCORES')
    plan.isWhole, plan.loads = #turns < 2 * size, plan.loads + 1
    plan.share = math.max(1, math.floor(size / math.max(1, #turns / 2)))
    local names = {}
    for index = 1, #turns, 2 do
      names[#names + 1] = turns[index]
    end
    local its = #names > 0 and learn(plan.topic, names)
    local stem, tail = lineOf(plan.topic .. '\v', plan.rank), ':' .. plan.rank
    stem = sub(stem, 1, -3)
    for index, key in ipairs(names) do
      local about, turn = its and its[key] or FREE, tonumber(turns[2 * index])
      local entry = { key = key, about = about, turn = turn, before = turn, given = 0, planned = 0, messages = NONE }
      entry.line = stem .. key .. tail
      entry.used = about.state.used[plan.rank]
      plan.all[#plan.all + 1], plan.entries[#plan.entries + 1] = entry, entry
    end
  end

  -- The message of a key that comes next, or nothing: its member and its moment as text.
  local function nextOf(plan, entry)
    local about, messages = entry.about, entry.messages
    entry.isSeen = true
    if about.holder then
      local isIts = about.holder.rank == plan.rank and entry.planned == 0
      return isIts and about.holder.member or nil, about.holder.due
    end
    local at = 2 * entry.planned
    if not messages[at + 1] and not entry.isRead then
      local size = plan.share * about.terms.weight + 1
      local more = ask('ZRANGE', entry.line, entry.planned, entry.planned + size - 1, 'WITHSCORES')
      entry.isRead = #more < 2 * size
      if messages == NONE then
        messages, entry.messages = more, more
      else
        for index = 1, #more do
          messages[#messages + 1] = more[index]
        end
      end
    end
    return messages[at + 1], messages[at + 2]
  end

  -- The entry whose turn is next, if any has a message that may be handed out.
  local function front(plan, size)
    while true do
      local entry = plan.entries[plan.at]
      if not entry and not plan.isWhole then
        if plan.loads >= LOADS_MAX then
          plan.isCut = true
          return nil
        end
        load(plan, size)
        entry = plan.entries[plan.at]
      end
      if not entry and plan.isWhole then
        if #plan.later == 0 then
          return nil
        end
        plan.entries, plan.at, plan.later = plan.later, 1, {}
        entry = plan.entries[1]
      end
      if entry then
        local member, due = nextOf(plan, entry)
        if member and entry.about.left > 0 and tonumber(due) <= plan.dueUntil then
          return entry, member, due
        end
        plan.at = plan.at + 1
      end
    end
  end

  -- Its turn moves when it has used up its weight; another one follows.
  local function pass(plan, entry)
    entry.planned, entry.about.left = entry.planned + 1, entry.about.left - 1
    entry.used = entry.used + 1
    if entry.used >= entry.about.terms.weight then
      entry.used, entry.turn = 0, math.max(now, entry.turn) + STAMP_MS
      plan.at = plan.at + 1
      plan.later[#plan.later + 1] = entry
    end
  end

  -- The first turn that has come and has a message; math.huge without.
  function serving.turn(topic, rank, dueUntil, size)
    local entry = front(planOf(topic, rank, dueUntil), size)
    return entry and entry.turn or math.huge
  end

  -- What comes next in the order of turns, up to one: members, members with moments, the line in the claim of each, and an
  -- entry for each, for `given`.
  function serving.draw(topic, rank, dueUntil, size, untilTurn)
    local plan = planOf(topic, rank, dueUntil)
    local found, scored, lines, entries = {}, {}, {}, {}
    while #found < size do
      local entry, member, due = front(plan, size - #found)
      if not entry or entry.turn > untilTurn then
        break
      end
      local count = #found + 1
      found[count], scored[2 * count - 1], scored[2 * count] = member, member, due
      lines[count] = entry.about.terms.concurrency > 0 and entry.line or plan.line
      entries[count] = entry
      pass(plan, entry)
    end
    return found, scored, lines, entries
  end

  -- The first so many of what was drawn are handed out; the others stay.
  function serving.given(entries, count)
    for index = 1, count do
      entries[index].given = entries[index].given + 1
    end
  end

  -- Takes what was handed out of its line, and counts it. `served`: by priority, the turns after that.
  local function takeOut(plan, entry, members)
    local about = entry.about
    local state, weight, holder = about.state, about.terms.weight, about.holder
    if about == FREE then
      call('ZREMRANGEBYRANK', entry.line, 0, entry.given - 1)
      for index = 1, entry.given do
        members[#members + 1] = entry.messages[2 * index - 1]
      end
      return
    end
    for index = 1, entry.given do
      members[#members + 1] = holder and holder.member or entry.messages[2 * index - 1]
    end
    if holder then
      call('ZREM', entry.line, holder.member)
      try('ZREM', tools.heldLine(plan.topic, entry.key), plan.rank .. holder.member)
      state.held = math.max(0, state.held - 1)
    else
      call('ZREMRANGEBYRANK', entry.line, 0, entry.given - 1)
      for index = 1, state.held > 0 and entry.given or 0 do
        local member = plan.rank .. entry.messages[2 * index - 1]
        state.held = state.held - (try('ZREM', tools.heldLine(plan.topic, entry.key), member) == 1 and 1 or 0)
      end
    end
    tools.charge(state, about.terms, entry.given)
    local used = state.used[plan.rank] + entry.given
    if weight > 1 then
      local counted = state.used
      state.used = { ['0'] = counted['0'], ['1'] = counted['1'], ['2'] = counted['2'] }
      state.used[plan.rank] = used % weight
    end
    if used >= weight then
      about.served[plan.rank] = math.max(now, entry.before) + STAMP_MS
    end
  end

  local function takeAllOut(plan)
    local members = {}
    for _, entry in ipairs(plan.all) do
      if entry.given > 0 then
        takeOut(plan, entry, members)
      end
    end
    if #members > 0 then
      try('ZREM', plan.line, unpack(members))
      tools.keepLine(plan.line)
    end
  end

  -- Of keys without limits: what was read says where they stand, but where nothing is left.
  local function standFree(topic, its, moves)
    local gone = {}
    for _, plan in ipairs(its) do
      for _, entry in ipairs(plan.all) do
        if entry.isSeen then
          local key, turn = entry.key, nil
          local due = entry.messages[2 * entry.given + 2]
          if not due and not entry.isRead then
            due = ask('ZRANGE', entry.line, 0, 0, 'WITHSCORES')[2]
          end
          if due then
            turn = math.max(tonumber(due), entry.given > 0 and math.max(now, entry.before) + STAMP_MS or entry.before)
          elseif call('EXISTS', tools.ownLine(topic, key, '0'), tools.ownLine(topic, key, '1'), tools.ownLine(topic, key, '2')) == 0 then
            gone[#gone + 1] = key
          end
          if turn ~= entry.before then
            tools.move(moves, plan.rank, key, turn)
          end
        end
      end
    end
    tools.make(moves, topic)
    tools.keepNames(topic, {}, gone)
  end

  local function standRuled(topic, its, moves)
    local names, states, terms, served = {}, {}, {}, {}
    for _, plan in ipairs(its) do
      for _, entry in ipairs(plan.all) do
        local about = entry.about
        if entry.isSeen and not served[entry.key] then
          local place = #names + 1
          names[place], states[place], terms[place], served[entry.key] = entry.key, about.state, about.terms, about.served
        end
      end
    end
    if #names > 0 then
      tools.restand(topic, names, states, terms, served, moves)
    else
      tools.make(moves, topic)
    end
  end

  -- Writes down what was handed out. Returns whether there were keys that were not looked at.
  function serving.commit()
    local byTopic, isCut = {}, false
    for _, plan in ipairs(plans) do
      takeAllOut(plan)
      isCut = isCut or plan.isCut
      byTopic[plan.topic] = byTopic[plan.topic] or {}
      table.insert(byTopic[plan.topic], plan)
    end
    for topic, its in pairs(byTopic) do
      local stand, moves = tools.rules(topic) and standRuled or standFree, tools.moves()
      for _, plan in ipairs(its) do
        moves.seen[plan.rank] = true
      end
      stand(topic, its, moves)
    end
    return isCut
  end

  serving.firsts = firsts

  -- Topics of which nothing is left, or only what runs.
  function serving.forget(topics)
    for _, topic in ipairs(topics) do
      if call('EXISTS', tools.named('keys', topic)) == 0 and call('HEXISTS', RUNNING, topic) == 0 then
        try('HDEL', tools.KEYED, topic)
      end
    end
  end

  return serving
end
