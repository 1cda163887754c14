-- checkup: whether the keys of a queue agree with each other, for the doctor.
-- uses: base
--
-- KEYS      the twelve of `base`
-- ARGV      now, channel
-- reply     how many have a payload, wait, run, hold a lease, are dead; how many topics have counts, how many a number
-- cost      O(1)

local waiting = 0
for _, priority in ipairs(PRIORITIES) do
  waiting = waiting + call('ZCARD', DELAYS[priority])
end
return {
  call('HLEN', PAYLOAD),
  waiting,
  call('HLEN', RUNNING),
  call('ZCARD', LEASES),
  call('ZCARD', DEAD),
  call('HLEN', TOPICS),
  call('HLEN', TOPIC_NUMBERS),
}
