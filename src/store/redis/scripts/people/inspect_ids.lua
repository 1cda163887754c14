-- inspect_ids: messages by id; unknown ids are passed over.
-- uses: base claims lines failures extras remembered successors describe holders
--
-- KEYS      those of `base`
-- ARGV      now, channel, then the ids
-- reply     what is shown: see `describe`
-- cost      O(log n) for each id, and the length of its body; for those that run, see `holders`

local ids = {}
for index = 3, #ARGV do
  ids[index - 2] = ARGV[index]
end
showAll(ids)
return shown
