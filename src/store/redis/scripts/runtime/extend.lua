-- extend: leases go on, from now, under the same token.
-- uses: base claims extras
--
-- KEYS      those of `base`, then the claims
-- ARGV      now, channel, lease in ms, then for each claim: its place in KEYS, how many ids, the ids
-- reply     a word for each id: 'extended' 'cancelling' 'lost'
--
-- The caller names all that it still holds of a claim. What it does not name keeps its old end, written behind it: else a
-- message that its holder gave up would stay leased as long as its slowest neighbour.
--
-- upholds   P4 only the holder extends; repeating it is harmless, since the token stays
--           P8 a full server still lets leases go on
-- cost      O(1) for each id, O(log n) for each claim; O(1) for each message of a claim that is not named whole

local endsAt = text(math.ceil(now + tonumber(ARGV[3])))
local words = {}

local function withEnd(entry, ownEnd)
  local due, line, stamp = readEntry(entry)
  return makeEntry(due, line, stamp) .. (ownEnd == '' and '' or '!' .. ownEnd)
end

-- Named or not: whether each message of the claim has an end of its own.
local function part(claim, isNamed)
  local oldEnd = call('ZSCORE', CLAIMS, claim)
  oldEnd = text(oldEnd and tonumber(oldEnd) or now)
  local all = call('HGETALL', claim)
  for index = 1, #all, 2 do
    local id, entry = all[index], all[index + 1]
    local hasOwnEnd = string.find(entry, '!', 1, true)
    if id ~= '' and not isNamed[id] and not hasOwnEnd then
      call('HSET', claim, id, withEnd(entry, oldEnd))
      call('ZADD', CLAIMS, oldEnd, claim .. '!' .. oldEnd)
    elseif isNamed[id] and hasOwnEnd then
      call('HSET', claim, id, withEnd(entry, ''))
    end
  end
end

writeEvenWhenFull()
local at = 4
while at <= #ARGV do
  local claim, count = KEYS[tonumber(ARGV[at])], tonumber(ARGV[at + 1])
  local held = call('HMGET', claim, unpack(ARGV, at + 2, at + 1 + count))
  local extras = hasExtras() and call('HMGET', EXTRAS, unpack(ARGV, at + 2, at + 1 + count)) or {}
  local isNamed, named, hasOwnEnds = {}, 0, false
  for index = 1, count do
    local id, entry = ARGV[at + 1 + index], held[index]
    local word = extras[index] and isMarked(extras[index], 'c') and 'cancelling' or 'extended'
    words[#words + 1] = entry and word or 'lost'
    if entry and not isNamed[id] then
      isNamed[id], named = true, named + 1
      hasOwnEnds = hasOwnEnds or string.find(entry, '!', 1, true)
    end
  end
  if named > 0 then
    if hasOwnEnds or call('HLEN', claim) - 1 > named then
      part(claim, isNamed)
    end
    call('ZADD', CLAIMS, endsAt, claim)
  end
  at = at + 2 + count
end
return words
