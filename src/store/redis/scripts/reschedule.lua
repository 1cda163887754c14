-- reschedule: gives waiting messages another moment; attempts, error and produce order stay.
-- uses: base topics waiting
--
-- KEYS      the twelve of `base`
-- ARGV      now, channel, then two for each: id, delay in ms or '@' and a moment
-- reply     a word for each: 'rescheduled' 'running' 'missing'
-- upholds   P3 what runs is left to whoever runs it      P9 an earlier head wakes
-- cost      O(log n) for each, and the length of its body; one publish at most

local function reschedule(id, moment)
  local value = call('HGET', PAYLOAD, id)
  if not value then
    return 'missing'
  end
  local stamp = sub(value, 1, STAMP_END)
  local score = waitingScore(id, stamp)
  if not score then
    return call('ZSCORE', DEAD, id) and 'missing' or 'running'
  end
  endWaiting(id, stamp, score)
  if sub(moment, 1, 1) == '@' then
    awaitAgain(id, stamp, math.max(1, tonumber(sub(moment, 2))))
  else
    awaitAgain(id, stamp, dueAfter(tonumber(moment)))
  end
  writeWaiting() -- At once, so that the same id later in this batch finds it.
  return 'rescheduled'
end

local words = {}
for index = 3, #ARGV, 2 do
  words[#words + 1] = reschedule(ARGV[index], ARGV[index + 1])
end
writeTallies()
wake()
return words
