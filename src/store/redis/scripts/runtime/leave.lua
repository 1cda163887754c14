-- leave: an owner stops and will claim no more.
-- uses: base lines waking watch workers
--
-- KEYS      those of `base`
-- ARGV      now, channel, owner; its name in the watch, its set of topics
-- reply     nothing of use
-- cost      O(log n) of the owners

local owner = ARGV[3]
forgetLook(ARGV[5], ARGV[4])
local entry = call('HGET', FACTS, owner)
local first, gone, facts = readFacts(entry)
if entry and gone == 0 then
  writeEvenWhenFull()
  call('ZADD', WORKERS, text(math.floor(now)), owner)
  call('HSET', FACTS, owner, text(first) .. ' ' .. text(math.floor(now)) .. ' ' .. facts)
end
return 1
