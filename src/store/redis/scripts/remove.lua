-- remove: takes messages away for good, those that wait (cancel) or those that are dead (purge).
-- uses: base topics waiting failures
--
-- KEYS      the twelve of `base`
-- ARGV      now, channel, 'waiting' or 'dead', then the ids
-- reply     a word for each id: 'removed' 'running' 'missing'
-- upholds   P3 what runs is left to whoever runs it
-- cost      O(log n) for each id, and the length of its body

local from = ARGV[3]

local function remove(id)
  local value = call('HGET', PAYLOAD, id)
  if not value then
    return 'missing'
  end
  local stamp = sub(value, 1, STAMP_END)
  local score = waitingScore(id, stamp)
  local isDead = not score and call('ZSCORE', DEAD, id)
  if not score and not isDead then
    return 'running'
  end
  if from == 'waiting' and score then
    endWaiting(id, stamp, score)
  elseif from == 'dead' and isDead then
    call('ZREM', DEAD, id)
    tally(sub(stamp, TOPIC_AT, TOPIC_END), 3, -1)
  else
    return 'missing'
  end
  call('HDEL', PAYLOAD, id)
  forget(id)
  return 'removed'
end

local words = {}
for index = 4, #ARGV do
  words[index - 3] = remove(ARGV[index])
end
writeTallies()
return words
