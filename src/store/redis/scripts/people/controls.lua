-- controls: all pauses and limits.
-- uses: base
--
-- KEYS      those of `base`
-- ARGV      now, channel
-- reply     now; then two for each topic: its name, its nine numbers as `controls` has them
-- cost      O(1) for each topic with controls

local reply = call('HGETALL', CONTROLS)
table.insert(reply, 1, string.format('%.3f', now))
return reply
