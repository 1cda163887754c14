-- checkup: whether the keys of a queue agree with each other, for the doctor.
-- uses: base lines extras remembered successors
--
-- KEYS      those of `base`
-- ARGV      now, channel
-- reply     how many messages have a payload (what is only remembered is none), wait, run, are dead; how many run and are dead by the counts of topics; how many lines have
--           a head, how many have a name; how many of the lines looked at have no message; 1 if all lines and claims were
--           looked at, else 0; how many successors there are, and how many by the counts of topics
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
}
