-- inspect_remembered: what is remembered of messages that are done, page by page: by the moment at which it is over, and id.
-- uses: base ranks remembered
--
-- KEYS      those of `base`
-- ARGV      now, channel, how many at most, then the place after which to go on: moment and id ('' at first)
-- reply     the place after the last one looked at (moment and id; nothing at the end), then id and value of each
-- upholds   P10 at most so many, and not much more than READ_BYTES_MAX of values
-- cost      O(log² n) to find the place, O(log n) for each

local limit, untilAt, last = tonumber(ARGV[3]), ARGV[4], ARGV[5]
local rank = untilAt == '' and call('ZCOUNT', REMEMBERED, '-inf', string.format('%.3f', now)) or rankAfter(REMEMBERED, untilAt, last)
local page = call('ZRANGE', REMEMBERED, rank, rank + limit - 1, 'WITHSCORES')
local bytes, found, place = READ_BYTES_MAX, {}, {}
local isEnd = #page < 2 * limit
for index = 1, #page, 2 do
  if bytes <= 0 then
    isEnd = false
    break
  end
  local value = call('HGET', PAYLOAD, page[index])
  if value and isRemembered(value) then
    found[#found + 1], found[#found + 2] = page[index], value
    bytes = bytes - #value
  end
  place = { page[index + 1], page[index] }
end
return { isEnd and {} or place, found }
