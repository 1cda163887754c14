-- revive: dead messages wait again, due now, as if they had never been tried.
-- uses: base topics waiting failures
--
-- KEYS      the twelve of `base`
-- ARGV      now, channel, then the ids
-- reply     a word for each id: 'revived' 'missing'
-- upholds   P6 attempts begin at 0 again      P9 an earlier head wakes
-- cost      O(log n) for each id, and the length of its body; one publish at most

local function revive(id)
  if call('ZREM', DEAD, id) == 0 then
    return 'missing'
  end
  local value = call('HGET', PAYLOAD, id)
  if not value then
    return 'missing'
  end
  tally(sub(value, TOPIC_AT, TOPIC_END), 3, -1)
  forget(id)
  awaitAgain(id, sub(value, 1, STAMP_END), math.floor(now))
  return 'revived'
end

local words = {}
for index = 3, #ARGV do
  words[index - 2] = revive(ARGV[index])
end
writeWaiting()
writeTallies()
wake()
return words
