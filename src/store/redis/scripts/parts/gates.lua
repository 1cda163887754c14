-- gates: what pauses and limits leave of one claim. A gate stands before each wanted topic that is paused or has a limit:
--
--   heads         by line, the moment of its first message
--   pausedUntil   nothing is handed out before
--   limited       it has a limit: nothing is handed out ahead of its moment, and no more than can start at once
--   places, free  how many its concurrency leaves, how many the asker can start; freeSlots: over all topics
--   controls      its own and that of the whole queue, whose rates are charged

-- `topics`: of each want; `frees`: how many can start at once, in all and of each want. Returns the gates by want, the numbers
-- (from 0) of wants that have a limit, and what can be done with a gate.
local function openGates(topics, frees, leadMs)
  local tools = controlTools()
  local byWant, limitedWants, freeSlots = {}, {}, 0
  local record = call('HGET', CONTROLS, '')
  local whole = record and tools.read(record)
  -- Of every topic that is paused until a resume: what else is kept of it does not matter.
  local CLOSED, FOREVER_BYTE = { heads = {}, pausedUntil = MOMENT_MAX, controls = {} }, 70

  local function open(want, own, free)
    local topic = topics[want]
    local gate = { heads = {}, free = free, places = math.huge, pausedUntil = 0, controls = { own } }
    -- Our own topics begin with a control character, and do not stop with the queue.
    if whole and byte(topic, 1) ~= 1 then
      gate.controls[#gate.controls + 1] = whole
    end
    for _, control in ipairs(gate.controls) do
      gate.pausedUntil = math.max(gate.pausedUntil, control[PAUSED])
    end
    if own and own[CONCURRENCY] > 0 then
      gate.limited, gate.places = true, own[CONCURRENCY] - (tonumber(call('HGET', RUNNING, topic)) or 0)
    end
    tools.eachRate(gate.controls, function()
      gate.limited = true
    end)
    if gate.limited then
      limitedWants[#limitedWants + 1] = want - 1
    end
    if gate.limited or gate.pausedUntil > now then
      byWant[want] = gate
    end
  end

  -- One look for all where few have controls, else one for each want.
  local records = {}
  if call('HLEN', CONTROLS) <= #topics then
    local all, wantOf = call('HGETALL', CONTROLS), {}
    for want, topic in ipairs(topics) do
      wantOf[topic] = want
    end
    for index = 1, #all, 2 do
      records[wantOf[all[index]] or 0] = all[index + 1]
    end
  elseif #topics > 0 then
    records = call('HMGET', CONTROLS, unpack(topics))
  end
  local want = -1
  for free in string.gmatch(frees, '%S+') do
    want = want + 1
    if want == 0 then
      freeSlots = tonumber(free)
    elseif records[want] and byte(records[want], 1) == FOREVER_BYTE then
      byWant[want] = CLOSED
    elseif records[want] or whole then
      open(want, records[want] and tools.read(records[want]), tonumber(free))
    end
  end

  local gates = { byWant = byWant, limitedWants = limitedWants }

  -- How many may be handed out now.
  function gates.left(gate)
    if gate.pausedUntil > now then
      return 0
    elseif not gate.limited then
      return math.huge
    end
    local least = math.min(gate.places, gate.free, freeSlots)
    tools.eachRate(gate.controls, function(control, rate)
      least = math.min(least, math.floor((now - tools.nextStart(control, rate)) / control[rate]) + 1)
    end)
    return math.max(0, least)
  end

  function gates.charge(gate, count)
    if gate.limited and count > 0 then
      gate.places, gate.free, freeSlots = gate.places - count, gate.free - count, freeSlots - count
      tools.eachRate(gate.controls, function(control, rate)
        tools.charge(control, rate, count)
        control.isCharged = true
      end)
    end
  end

  -- When its first message may start by the clock alone; never where something else must happen first, which wakes.
  local function opensAt(gate)
    local at = math.huge
    for _, head in pairs(gate.heads) do
      at = math.min(at, head)
    end
    local isFull = gate.limited and math.min(gate.places, gate.free, freeSlots) <= 0
    if at == math.huge or isFull or gate.pausedUntil == MOMENT_MAX then
      return math.huge
    end
    at = math.max(gate.limited and at or at - leadMs, gate.pausedUntil)
    tools.eachRate(gate.controls, function(control, rate)
      local nextAt = tools.nextStart(control, rate)
      at = math.max(at, rate == OVER and math.min(nextAt, control[OVER_ENDS]) or nextAt)
    end)
    return at
  end

  -- Keeps what was charged. Returns when the first of all gates opens.
  function gates.close()
    local at = math.huge
    for number, gate in pairs(byWant) do
      at = math.min(at, opensAt(gate))
      for _, control in ipairs(gate.controls) do
        if control.isCharged then
          control.isCharged = nil
          tools.write(control == whole and '' or topics[number], control)
        end
      end
    end
    return at
  end

  return gates
end
