-- gates: what pauses and limits leave of one claim. A gate stands before each wanted topic that is paused or has a limit:
--
--   heads         by line, the moment of its first message
--   pausedUntil   nothing is handed out before
--   limited       it has a limit: nothing is handed out ahead of its moment, and no more than can start at once
--   places, free  how many its concurrency leaves, how many the asker can start; freeSlots: over all topics
--   offered       `free` as it was in the beginning
--   rates         its own and those of the whole queue, which are charged: control, place of the interval, and so on

-- `topics`: of each want; `frees`: how many can start at once, in all and of each want, or none. Returns the gates by want, the numbers
-- (from 0) of wants that have a limit, and what can be done with a gate.
local function openGates(topics, frees, leadMs)
  -- Above so many wants, a short list of controls is read whole.
  local HMGET_MAX = 100
  local tools = controlTools()
  local byWant, limitedWants, freeSlots, freeOf = {}, {}, 0, nil
  -- Of every topic that is paused until a resume: what else is kept of it does not matter.
  local CLOSED, FOREVER_BYTE = { heads = {}, pausedUntil = MOMENT_MAX, rates = {} }, 70

  -- One look for all topics where few have controls, else one for each want.
  local records, whole = {}, nil
  if #topics > HMGET_MAX and call('HLEN', CONTROLS) < #topics then
    local all, wantOf = call('HGETALL', CONTROLS), {}
    for want, topic in ipairs(topics) do
      wantOf[topic] = want
    end
    for index = 1, #all, 2 do
      records[wantOf[all[index]] or (all[index] == '' and 0 or -1)] = all[index + 1]
    end
    whole = records[0] and tools.read(records[0])
  else
    records = call('HMGET', CONTROLS, unpack(topics))
    -- No topic is called so.
    local record = call('HGET', CONTROLS, '')
    whole = record and tools.read(record)
  end

  -- How many the asker can start of a want; asked for only where something has a limit.
  local function freeFor(want)
    if not freeOf then
      freeOf = {}
      for free in string.gmatch(frees, '%S+') do
        freeOf[#freeOf + 1] = tonumber(free)
      end
      freeSlots = freeOf[1] or 0
    end
    return freeOf[want + 1] or 0
  end

  -- The rates of a control that hold now, each as the control and the place of its interval.
  local function addRates(rates, control)
    if control[RATE] > 0 then
      rates[#rates + 1], rates[#rates + 2] = control, RATE
    end
    if control[OVER] > 0 and control[OVER_ENDS] > now then
      rates[#rates + 1], rates[#rates + 2] = control, OVER
    end
  end

  local function open(want, own)
    local topic = topics[want]
    local gate = { heads = {}, pausedUntil = own and own[PAUSED] or 0, rates = {}, places = math.huge }
    if own then
      addRates(gate.rates, own)
    end
    -- Our own topics begin with a control character, and do not stop with the queue.
    if whole and byte(topic, 1) ~= 1 then
      gate.pausedUntil = math.max(gate.pausedUntil, whole[PAUSED])
      addRates(gate.rates, whole)
    end
    gate.limited = #gate.rates > 0 or (own and tools.limitsKeys(own)) or false
    if own and own[CONCURRENCY] > 0 then
      gate.limited, gate.places = true, own[CONCURRENCY] - (tonumber(call('HGET', RUNNING, topic)) or 0)
    end
    if gate.limited then
      limitedWants[#limitedWants + 1] = want - 1
      gate.free = freeFor(want)
      gate.offered = gate.free
    end
    if gate.limited or gate.pausedUntil > now then
      byWant[want] = gate
    end
  end

  for want = 1, #topics do
    local record = records[want]
    if record and byte(record, 1) == FOREVER_BYTE then
      byWant[want] = CLOSED
    elseif record or whole then
      open(want, record and tools.read(record))
    end
  end

  local gates = { byWant = byWant, limitedWants = limitedWants, CLOSED = CLOSED }

  -- How many may be handed out now.
  function gates.left(gate)
    if gate.pausedUntil > now then
      return 0
    elseif not gate.limited then
      return math.huge
    end
    local least, rates = math.min(gate.places, gate.free, freeSlots), gate.rates
    for index = 1, #rates, 2 do
      local control, rate = rates[index], rates[index + 1]
      least = math.min(least, math.floor((now - tools.nextStart(control, rate)) / control[rate]) + 1)
    end
    return math.max(0, least)
  end

  function gates.charge(gate, count)
    if gate.limited and count > 0 then
      gate.places, gate.free, freeSlots = gate.places - count, gate.free - count, freeSlots - count
      local rates = gate.rates
      for index = 1, #rates, 2 do
        tools.charge(rates[index], rates[index + 1], count)
        rates[index].isCharged = true
      end
    end
  end

  -- Something else than the clock must open it: a resume, or a settlement at the limit, both of which wake.
  function gates.isShut(gate)
    return gate.pausedUntil == MOMENT_MAX or gate.places <= 0
  end

  -- The asker itself can start none of it now; others may.
  function gates.isBeyond(gate)
    return gate.limited and math.min(gate.free, freeSlots) <= 0
  end

  -- When its first message may start, for a worker with a free slot; never where it is shut.
  function gates.opensAt(gate)
    local at = math.huge
    for _, head in pairs(gate.heads) do
      at = math.min(at, head)
    end
    if at == math.huge or gates.isShut(gate) then
      return math.huge
    end
    at = math.max(gate.limited and at or at - leadMs, gate.pausedUntil)
    local rates = gate.rates
    for index = 1, #rates, 2 do
      local control, rate = rates[index], rates[index + 1]
      local nextAt = tools.nextStart(control, rate)
      at = math.max(at, rate == OVER and math.min(nextAt, control[OVER_ENDS]) or nextAt)
    end
    return at
  end

  -- Keeps what was charged. Returns when the first of all gates opens to the asker.
  function gates.close()
    local at = math.huge
    for want, gate in pairs(byWant) do
      if gate ~= CLOSED then
        if not gates.isBeyond(gate) then
          at = math.min(at, gates.opensAt(gate))
        end
        for index = 1, #gate.rates, 2 do
          local control = gate.rates[index]
          if control.isCharged then
            control.isCharged = nil
            tools.write(control == whole and '' or topics[want], control)
          end
        end
      end
    end
    return at
  end

  return gates
end
