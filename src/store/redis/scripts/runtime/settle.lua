-- settle: ends leases: done, again later, back in its place, or dead.
-- uses: base claims lines waking rates keyed failures extras remembered successors controls settling
--
-- KEYS      those of `base`, then the claims
-- ARGV      now, channel, then groups: see `settling`
-- reply     see `settling`
-- upholds   P4 nothing happens unless the message runs under exactly this token
--           P6 a release leaves the attempts as they were before the claim
--           P8 the first write needs no memory: a full server still lets work finish
-- cost      O(1) for each that is done, O(log n) for the others; no body is read but where it changes; two
--           publishes for each topic, at most 41

return settleAll(3)
