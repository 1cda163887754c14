-- settle_then: as `settle`, for settlements that carry new messages, which are stored if their settlement counts, and for
-- messages that have a successor.
-- uses: base claims order lines waking rates keyed failures extras remembered successors placing controls settling
--
-- KEYS      those of `base`, the claims, the lines of the new messages
-- ARGV      now, channel, how many settlements, how many new messages, and seven for each: place of its settlement (from 1), place of its line in
--           KEYS, 'keep' or 'replace', delay in ms or '@' and a moment, id, payload, each tag behind a
--           line feed; then groups: see `settling`
-- reply     see `settling`. On a full server those that carry messages are refused
-- upholds   those of `settle`, and P15 a settlement and what it carries count together or not at all
-- cost      as `settle`, and O(log n) for each new message

local FIELDS = 7
local count = tonumber(ARGV[4])
local firstGroup = 5 + FIELDS * count

-- Settlement -> where its messages begin, and how many there are.
local beginsAt, sizeOf = {}, {}
for at = 5, firstGroup - 1, FIELDS do
  local settlement = tonumber(ARGV[at])
  beginsAt[settlement] = beginsAt[settlement] or at
  sizeOf[settlement] = (sizeOf[settlement] or 0) + 1
end

-- The first write: a full server refuses it, and then lets the others finish. Without new messages nothing is refused.
if count == 0 then
  writeEvenWhenFull()
end
readGreatest()
local reserved = reserveStamps(count + tonumber(ARGV[3]), redis.pcall)
local isFull = type(reserved) == 'table' and reserved.err

local function flush()
  enterAgain()
  waitingAgain, earliest = {}, {}
end

canCarry = function()
  local at = beginsAt[place]
  if not at then
    return true
  elseif isFull then
    return false
  end
  flush()
  for message = at, at + FIELDS * (sizeOf[place] - 1), FIELDS do
    if not dueOf(ARGV[message + 3]) then
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

succeed = function(id, record)
  flush()
  local due, tags, payload = readSuccessor(record)
  placeOne((headOf(payload)), 'replace', tonumber(due), id, payload, tags)
end

return settleAll(firstGroup)
