-- inspect_ids: messages by id; unknown ids are passed over.
-- uses: base claims lines failures extras remembered describe holders
--
-- KEYS      those of `base`
-- ARGV      now, channel, then the ids
-- reply     rows of ten, owners and extras: see `describe`
-- cost      O(log n) for each id, and the length of its body; for those that run, see `holders`

local ids = {}
for index = 3, #ARGV do
  ids[index - 2] = ARGV[index]
end
showAll(ids)
return { found, owners, extrasFound }
