-- inspect_ids: messages by id; unknown ids are passed over.
-- uses: base topics describe
--
-- KEYS      the twelve of `base`
-- ARGV      now, channel, then the ids
-- reply     rows of nine, see `describe`
-- cost      O(log n) for each id, and the length of its body

for index = 3, #ARGV do
  local value = call('HGET', PAYLOAD, ARGV[index])
  if value then
    describe(ARGV[index], value)
  end
end
return found
