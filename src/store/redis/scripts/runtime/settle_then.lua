-- settle_then: as `settle`, for settlements that carry new messages: those are stored if their settlement counts.
-- uses: base claims order lines failures extras remembered placing controls settling
--
-- KEYS      those of `base`, the claims, the lines of the new messages
-- ARGV      now, channel, how many new messages, and seven for each: place of its settlement (from 1), place of its line in
--           KEYS, 'keep' or 'replace', delay in ms or '@' and a moment, id, payload, each tag behind a
--           line feed; then groups: see `settling`
-- reply     see `settling`. Refused are on a full server those that carry messages, and one that would replace a message
--           that another worker runs
-- upholds   those of `settle`, and P15 a settlement and what it carries count together or not at all
-- cost      as `settle`, and O(log n) for each new message

local FIELDS = 7
local count = tonumber(ARGV[3])
local firstGroup = 4 + FIELDS * count

-- Settlement -> where its messages begin, and how many there are.
local beginsAt, sizeOf = {}, {}
for at = 4, firstGroup - 1, FIELDS do
  local settlement = tonumber(ARGV[at])
  beginsAt[settlement] = beginsAt[settlement] or at
  sizeOf[settlement] = (sizeOf[settlement] or 0) + 1
end

-- The first write: a full server refuses it, and then lets the others finish.
readGreatest()
local reserved = count > 0 and reserveStamps(count, redis.pcall)
local isFull = type(reserved) == 'table' and reserved.err

local function flush()
  enterAgain()
  waitingAgain, earliest = {}, {}
end

local function runs(id)
  local value = call('HGET', PAYLOAD, id)
  if not value then
    return false
  end
  local _, _, due = waitingPlace(id, value)
  return not due and not call('ZSCORE', DEAD, id)
end

canCarry = function(id)
  local at = beginsAt[place]
  if not at then
    return true
  elseif isFull then
    return false
  end
  flush()
  for message = at, at + FIELDS * (sizeOf[place] - 1), FIELDS do
    local newId = ARGV[message + 4]
    if not dueOf(ARGV[message + 3]) or (ARGV[message + 2] == 'replace' and newId ~= id and runs(newId)) then
      return false
    end
  end
  return true
end

carry = function()
  local at = beginsAt[place]
  if not at then
    return
  end
  flush()
  for message = at, at + FIELDS * (sizeOf[place] - 1), FIELDS do
    local line = KEYS[tonumber(ARGV[message + 1])]
    placeOne(line, ARGV[message + 2], dueOf(ARGV[message + 3]), ARGV[message + 4], ARGV[message + 5], ARGV[message + 6])
  end
  giver = ''
end

return settleAll(firstGroup)
