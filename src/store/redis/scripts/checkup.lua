-- checkup: whether the keys of a queue agree with each other, for the doctor.
-- uses: base
--
-- KEYS      the twelve of `base`
-- ARGV      now, channel
-- reply     how many have a payload, wait, run, hold a lease, are dead; how many topics have counts, how many a number;
--           how many were set aside, how many stand in line
-- cost      O(log n)

local waiting, aside = 0, 0
for _, priority in ipairs(PRIORITIES) do
  waiting = waiting + call('ZCARD', DELAYS[priority])
  aside = aside + call('ZCOUNT', DELAYS[priority], '-inf', '(0')
end
return {
  call('HLEN', PAYLOAD),
  waiting,
  call('HLEN', RUNNING),
  call('ZCARD', LEASES),
  call('ZCARD', DEAD),
  call('HLEN', TOPICS),
  call('HLEN', TOPIC_NUMBERS),
  aside,
  call('ZCARD', PENDING),
}
