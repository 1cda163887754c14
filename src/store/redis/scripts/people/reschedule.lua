-- reschedule: gives waiting messages, and the successors of those that run, another moment; attempts, error and produce order stay.
-- uses: base lines waking rates keyed failures extras remembered successors
--
-- KEYS      those of `base`
-- ARGV      now, channel, then two for each: id, delay in ms or '@' and a moment
-- reply     a word for each: 'rescheduled' 'running' 'missing'
-- upholds   P3 what runs is left to its worker      P9 an earlier head wakes
-- cost      O(log n) for each, and the length of its body; two publishes for each topic, at most 41

local function reschedule(id, dueAt)
  local value = call('HGET', PAYLOAD, id)
  if not value or isRemembered(value) then
    return 'missing'
  end
  local line, member, due = waitingPlace(id, value)
  if not due then
    local record = successorOf(id)
    if record then
      local _, tags, payload = readSuccessor(record)
      keepSuccessor(id, dueAt, tags, payload)
      return 'rescheduled'
    end
    return call('ZSCORE', DEAD, id) and 'missing' or 'running'
  end
  release(line, member)
  stand(line, text(dueAt), member)
  if hasFailures and call('HEXISTS', FAILURES, id) == 1 then
    local attempts, lapses, _, _, reason, message = failureOf(id)
    writeFailure(id, attempts, lapses, dueAt, 0, reason, message)
  end
  entered(line, dueAt)
  left(line)
  return 'rescheduled'
end

local words = {}
for index = 3, #ARGV, 2 do
  words[#words + 1] = reschedule(ARGV[index], dueOf(ARGV[index + 1]))
end
finishKeyed()
wake('', '')
return words
