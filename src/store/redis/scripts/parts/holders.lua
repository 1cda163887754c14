-- holders: messages shown by their ids, whatever their state. Which claim has a running one is found by asking the claims in
-- turn, at most LOOK_MAX times: what is not found so is shown without lease and owner.

local LOOK_MAX = 100000

-- The claims that hold any of these, as far as LOOK_MAX goes: id -> claim, entry, end.
local function claimsOf(ids)
  local holderOf, looks, first = {}, LOOK_MAX, 0
  while looks > 0 and #ids > 0 do
    local page = call('ZRANGE', CLAIMS, first, first + 99, 'WITHSCORES')
    for index = 1, #page, 2 do
      local claim = page[index]
      local held = looks > 0 and not string.find(claim, '!%d+$') and redis.pcall('HMGET', claim, unpack(ids))
      if held and not held.err then
        for place, id in ipairs(ids) do
          if held[place] then
            holderOf[id] = { claim, held[place], page[index + 1] }
          end
        end
      end
      looks = looks - #ids
    end
    if #page < 200 then
      break
    end
    first = first + 100
  end
  return holderOf
end

-- Shows those that are there, in the order of the ids.
local function showAll(ids)
  local values, running = {}, {}
  for _, id in ipairs(ids) do
    local value = values[id] == nil and call('HGET', PAYLOAD, id)
    if value and isRemembered(value) then
      values[id] = { value }
    elseif value then
      local _, _, due = waitingPlace(id, value)
      values[id] = { value, due, not due and call('ZSCORE', DEAD, id) or nil }
      if not due and not values[id][3] then
        running[#running + 1] = id
      end
    end
  end
  local holderOf = claimsOf(running)
  for _, id in ipairs(ids) do
    local known = values[id]
    if known and isRemembered(known[1]) then
      if untilOf(known[1]) > now then
        addRow(id, known[1], 'completed', '0', '0', 0, 0, '', '', '0')
      end
    elseif known and known[2] then
      showWaiting(id, known[1], known[2])
    elseif known and known[3] then
      showDead(id, known[1], known[3])
    elseif known then
      local holder = holderOf[id] or { '', '0', '0' }
      showRunning(id, known[1], holder[1], holder[2], holder[3])
    end
  end
end
