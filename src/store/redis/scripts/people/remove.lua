-- remove: takes messages away for good, those that wait (cancel) or those that are dead (purge).
-- uses: base lines waking rates keyed failures extras remembered successors
--
-- KEYS      those of `base`
-- ARGV      now, channel, 'waiting' or 'dead', '1' if those that run are to be cancelled, else '0', then the ids
-- reply     a word for each id: 'removed' 'running' 'cancelling' 'missing'
-- upholds   P3 what runs is left to its worker, which hears of it
-- cost      O(log n) for each id, and the length of its body

local from, isRunningToo = ARGV[3], ARGV[4] == '1'
local cancelling = {}

local function remove(id)
  local value = call('HGET', PAYLOAD, id)
  if not value then
    return 'missing'
  end
  if isRemembered(value) then
    forgetRemembered(id)
    return from == 'dead' and untilOf(value) > now and 'removed' or 'missing'
  end
  local line, member, due = waitingPlace(id, value)
  local isDead = not due and call('ZSCORE', DEAD, id)
  if not due and not isDead then
    dropSuccessor(id)
    if not isRunningToo then
      return 'running'
    end
    mark(id, 'c')
    cancelling[topicOf(line)] = true
    return 'cancelling'
  end
  if from == 'waiting' and due then
    unstand(line, member)
    left(line)
  elseif from == 'dead' and isDead then
    call('ZREM', DEAD, id)
    countDied(line, -1)
  else
    return 'missing'
  end
  call('HDEL', PAYLOAD, id)
  forget(id)
  forgetExtras(id)
  return 'removed'
end

local words = {}
for index = 5, #ARGV do
  words[index - 4] = remove(ARGV[index])
end
finishKeyed()
wake('', '')
for topic in pairs(cancelling) do
  redis.pcall(PUBLISH, ARGV[2], ' cancelling\n' .. topic)
end
return words
