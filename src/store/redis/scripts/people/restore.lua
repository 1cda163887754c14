-- restore: places messages as another store showed them.
-- uses: base claims order lines waking rates keyed failures extras remembered successors placing
--
-- KEYS      those of `base`, then the lines
-- ARGV      now, channel, then twelve for each message: id, state ('waiting', 'dead' or 'completed'), place of its line in
--           KEYS, dueAt, firstDueAt (0: as dueAt), attempts, lapses, when it died or until when it is remembered, reason,
--           error, payload, tags, each behind a line feed. A completed one has no line, and as payload what `remembered` keeps
--           behind the attempts
-- reply     a word for each: 'restored' 'taken'
-- upholds   P2 stored whole or not at all: the first write is one that a full server refuses
--           P5 an id is taken until its message is gone      P7 in the order given: see `order`      P9 an earlier head wakes
-- cost      O(log n) for each message; two publishes for each topic, at most 41

local FIELDS = 12
local messageCount = (#ARGV - 2) / FIELDS
local isReserved = false

local function keepRemembered(id, untilAt, dueAt, firstDueAt, attempts, told)
  call('HSET', PAYLOAD, id, table.concat({ '=' .. untilAt, dueAt, firstDueAt, attempts, told }, ' '))
  call('ZADD', REMEMBERED, untilAt, id)
  anyRemembered = true
end

local function bury(id, line, payload, tags, diedAt)
  local digits, lastDigit = nextStamp()
  call('HSET', PAYLOAD, id, MARK .. digits .. lastDigit .. payload)
  if tags ~= '' then
    setTags(id, tags)
  end
  call('ZADD', DEAD, diedAt, id)
  countDied(line, 1)
end

local function restore(at)
  local id, state, line = ARGV[at], ARGV[at + 1], KEYS[tonumber(ARGV[at + 2])]
  if isTakenStill(id) then
    return 'taken'
  end
  if not isReserved then
    reserveStamps(messageCount, call)
    isReserved = true
  end
  local dueAt, firstDueAt, attempts, lapses = ARGV[at + 3], ARGV[at + 4], tonumber(ARGV[at + 5]), tonumber(ARGV[at + 6])
  local untilAt, reason, message, payload, tags = ARGV[at + 7], ARGV[at + 8], ARGV[at + 9], ARGV[at + 10], ARGV[at + 11]
  if rememberedOf(id) then
    forgetRemembered(id)
  end
  if state == 'completed' then
    keepRemembered(id, untilAt, dueAt, firstDueAt, attempts, payload)
    return 'restored'
  end
  if state == 'dead' then
    bury(id, line, payload, tags, untilAt)
    writeFailure(id, attempts, lapses, tonumber(firstDueAt), tonumber(dueAt), reason, message)
    return 'restored'
  end
  placeOne(line, 'keep', tonumber(dueAt), id, payload, tags)
  if attempts > 0 or lapses > 0 or message ~= '' or firstDueAt ~= '0' then
    writeFailure(id, attempts, lapses, tonumber(firstDueAt), 0, '', message)
  end
  return 'restored'
end

readGreatest()
local words = {}
for index = 1, messageCount do
  words[index] = restore(3 + (index - 1) * FIELDS)
end
finishKeyed()
wake('', '')
return words
