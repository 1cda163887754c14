-- owned: the leases that an owner holds as the store sees it, lapsed ones included.
-- uses: base claims lines
--
-- KEYS      those of `base`
-- ARGV      now, channel, owner, then the place after which to go on as the last page gave it: end, claim ('' at first)
-- reply     the place after the last claim looked at (end, claim; nothing at the end); rows of three: id, claim, line
-- cost      O(log n), and O(1) for each claim looked at, at most LOOK_MAX, and for each of the owner's messages in them

local LOOK_MAX, MESSAGES_MAX = 1000, 1000

local prefix = CLAIM_PREFIX .. ARGV[3] .. '/'
local placeEnd, placeClaim = ARGV[4], ARGV[5]
local rank = 0
if placeClaim ~= '' then
  -- The claim may be gone or extended meanwhile: then on from where it was.
  local score = call('ZSCORE', CLAIMS, placeClaim)
  rank = score == placeEnd and call('ZRANK', CLAIMS, placeClaim) + 1 or call('ZCOUNT', CLAIMS, '-inf', '(' .. placeEnd)
end

local rows, place = {}, {}
local page = call('ZRANGE', CLAIMS, rank, rank + LOOK_MAX - 1, 'WITHSCORES')
for index = 1, #page, 2 do
  local claim = page[index]
  if sub(claim, 1, #prefix) == prefix and not string.find(claim, '!%d+$') then
    local entries = redis.pcall('HGETALL', claim)
    local lines = {}
    for field = 1, entries.err and 0 or #entries, 2 do
      if entries[field] == '' then
        lines = linesIn(entries[field + 1])
      end
    end
    for field = 1, entries.err and 0 or #entries, 2 do
      if entries[field] ~= '' then
        local _, number = readEntry(entries[field + 1])
        rows[#rows + 1] = entries[field]
        rows[#rows + 1] = claim
        rows[#rows + 1] = lines[number] or (headOf(call('HGET', PAYLOAD, entries[field]) or ''))
      end
    end
  end
  if #rows >= 3 * MESSAGES_MAX or index == 2 * LOOK_MAX - 1 then
    place = { page[index + 1], claim }
    break
  end
end
return { place, rows }
