-- revive: dead messages wait again, due now, as if they had never been tried.
-- uses: base lines waking rates keyed failures
--
-- KEYS      those of `base`
-- ARGV      now, channel, then the ids
-- reply     a word for each id: 'revived' 'missing'
-- upholds   P6 attempts begin at 0 again      P9 an earlier head wakes
-- cost      O(log n) for each id, and the length of its body; two publishes for each topic, at most 41

local dueAt = math.floor(now)

local function revive(id)
  if call('ZREM', DEAD, id) == 0 then
    return 'missing'
  end
  local value = call('HGET', PAYLOAD, id)
  if not value then
    return 'missing'
  end
  local line, member = waitingPlace(id, value)
  countDied(line, -1)
  forget(id)
  stand(line, text(dueAt), member)
  entered(line, dueAt)
  return 'revived'
end

local words = {}
for index = 3, #ARGV do
  words[index - 2] = revive(ARGV[index])
end
finishKeyed()
wake('', '')
return words
