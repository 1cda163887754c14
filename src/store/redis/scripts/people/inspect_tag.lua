-- inspect_tag: the messages that have a tag, in all states, page by page and in the order of their ids. The caller filters.
-- uses: base claims lines failures extras remembered successors describe holders
--
-- KEYS      those of `base`
-- ARGV      now, channel, tag, the id after which to go on ('' at first), how many at most
-- reply     the last id looked at ('' at the end), how many were looked at, what is shown: see `describe`, and now
-- upholds   P10 at most `how many` messages, and not much more than READ_BYTES_MAX of bodies
-- cost      O(log n) for each message, n being how many have the tag, and the length of its body; for those that run see
--           `holders`

local after, limit = ARGV[4], tonumber(ARGV[5])

local bytes, ids = READ_BYTES_MAX, {}
local page = redis.pcall('ZRANGEBYLEX', tagKey(ARGV[3]), after == '' and '-' or '(' .. after, '+', 'LIMIT', 0, limit)
page = page.err and {} or page
for _, id in ipairs(page) do
  if bytes > 0 then
    ids[#ids + 1] = id
    bytes = bytes - call('HSTRLEN', PAYLOAD, id)
  end
end
showAll(ids)
local isEnd = #ids == #page and #page < limit
return { isEnd and '' or ids[#ids], #ids, shown, string.format('%.3f', now) }
