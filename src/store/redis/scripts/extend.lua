-- extend: leases go on, from now, under the same token.
-- uses: base
--
-- KEYS      the twelve of `base`
-- ARGV      now, channel, lease in ms, then two for each: id, token
-- reply     a word for each: 'extended' 'lost'
-- upholds   P4 only the holder extends; repeating it is harmless, since the token stays
--           P8 a full server still lets leases go on
-- cost      O(log n) for each

local ids = {}
for index = 4, #ARGV, 2 do
  ids[#ids + 1] = ARGV[index]
end
if #ids == 0 then
  return {}
end

local endsAt = text(math.ceil(now + tonumber(ARGV[3])))
local records = call('HMGET', RUNNING, unpack(ids))
local leases = batch('ZADD', LEASES)
local words = {}
for index, id in ipairs(ids) do
  local record = records[index]
  if record and sub(record, TOKEN_AT) == ARGV[3 + index * 2] then
    add(leases, endsAt, id)
    words[index] = 'extended'
  else
    words[index] = 'lost'
  end
end
writeEvenWhenFull()
send(leases)
return words
