-- checkup: whether the keys of a queue agree with each other, for the doctor.
-- uses: base lines rates keyed extras remembered successors
--
-- KEYS      those of `base`
-- ARGV      now, channel
-- reply     how many messages have a payload (what is only remembered is none), wait, run, are dead; how many run and are dead by the counts of topics; how many lines have
--           a head, how many have a name; how many of the lines looked at have no message; 1 if all lines and claims were
--           looked at, else 0; how many successors there are, and how many by the counts of topics; of messages with a key,
--           how many their topics list and how many are in the lines of keys, and how many keys wait without a turn: of LOOK_MAX
--           keys, all zeros where there are more
-- cost      O(1) for each line and each claim, at most LOOK_MAX of each

local LOOK_MAX = 1000

local function sumOf(key)
  local sum = 0
  for _, count in ipairs(call('HVALS', key)) do
    sum = sum + (tonumber(count) or 0)
  end
  return sum
end

local waiting, empty = 0, 0
local lines = call('ZRANGE', LINES, 0, LOOK_MAX - 1)
for _, line in ipairs(lines) do
  local size = redis.pcall('ZCARD', line)
  size = type(size) == 'number' and size or 0
  waiting, empty = waiting + size, empty + (size == 0 and 1 or 0)
end
local running = 0
local claims = call('ZRANGE', CLAIMS, 0, LOOK_MAX - 1)
for _, claim in ipairs(claims) do
  local size = not string.find(claim, '!%d+$') and redis.pcall('HLEN', claim)
  running = running + (type(size) == 'number' and math.max(0, size - 1) or 0)
end
local listed, inLines, turnless, keysLeft = 0, 0, 0, LOOK_MAX

-- A key has a turn in each priority in which something waits, but where something of it is counted, which may hold it back.
local function lookAtKey(topic, key)
  local tools = keyed()
  local isCounted = redis.pcall('HEXISTS', tools.named('counts', topic), key) == 1
  local isTurnless = false
  for _, rank in ipairs(tools.RANKS) do
    local size = redis.pcall('ZCARD', tools.ownLine(topic, key, rank))
    size = type(size) == 'number' and size or 0
    inLines = inLines + size
    isTurnless = isTurnless or (size > 0 and not redis.pcall('ZSCORE', tools.named('turns', topic .. ':' .. rank), key))
  end
  turnless = turnless + (isTurnless and not isCounted and 1 or 0)
end

for _, topic in ipairs(keyed().ask('HKEYS', keyed().KEYED)) do
  local names = keysLeft >= 0 and keyed().ask('ZRANGE', keyed().named('keys', topic), 0, keysLeft) or {}
  keysLeft = keysLeft - #names
  for _, key in ipairs(names) do
    lookAtKey(topic, key)
  end
  for rank = 0, 2 do
    local size = redis.pcall('ZCARD', lineOf(topic .. '\v', rank))
    listed = listed + (type(size) == 'number' and size or 0)
  end
end
if keysLeft < 0 then
  listed, inLines, turnless = 0, 0, 0
end
return {
  call('HLEN', PAYLOAD) - call('ZCARD', REMEMBERED),
  waiting,
  running,
  call('ZCARD', DEAD),
  sumOf(RUNNING),
  sumOf(DIED),
  call('ZCARD', HEADS),
  call('ZCARD', LINES),
  empty,
  (#lines < LOOK_MAX and #claims < LOOK_MAX) and 1 or 0,
  call('HLEN', SUCCESSORS),
  sumOf(SUCCEEDING),
  listed,
  inLines,
  turnless,
}
