-- count: how many messages are in which state, and when the earliest is due.
-- uses: base
--
-- KEYS      the twelve of `base`
-- ARGV      now, channel
-- reply     delayed, ready, running, dead, the earliest dueAt ('' if nothing waits),
--           then four for each topic: name, waiting, running, dead
-- cost      O(log n), and O(1) for each topic

local delayed, waiting, earliest = 0, 0, math.huge
for _, priority in ipairs(PRIORITIES) do
  local key = DELAYS[priority]
  waiting = waiting + call('ZCARD', key)
  delayed = delayed + call('ZCOUNT', key, '(' .. string.format('%.3f', now), '+inf')
  -- Only after the server's clock went back: set aside, and not due any more.
  delayed = delayed + call('ZCOUNT', key, string.format('%.0f', math.floor(now) + 1 - ASIDE), '(0')
  local aside = call('ZRANGE', key, 0, 0, 'WITHSCORES')
  if aside[2] and tonumber(aside[2]) < 0 then
    earliest = math.min(earliest, tonumber(aside[2]) + ASIDE)
  end
  local first = call('ZRANGEBYSCORE', key, 0, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
  if first[2] then
    earliest = math.min(earliest, tonumber(first[2]))
  end
end

local reply = {
  delayed,
  waiting - delayed,
  call('HLEN', RUNNING),
  call('ZCARD', DEAD),
  earliest == math.huge and '' or string.format('%.0f', earliest),
}
local topics = call('HVALS', TOPICS)
for _, entry in ipairs(topics) do
  local waitingHere, runningHere, deadHere = unpackNumber('>I6I6I6', entry)
  local size = #reply
  reply[size + 1] = sub(entry, 19)
  reply[size + 2] = waitingHere
  reply[size + 3] = runningHere
  reply[size + 4] = deadHere
end
return reply
