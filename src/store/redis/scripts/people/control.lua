-- control: sets, changes or takes back a pause or a limit of a topic, or of the whole queue ('').
-- uses: base claims lines waking rates keyed controls
--
-- KEYS      those of `base`
-- ARGV      now, channel, kind, topic, how many topics may have controls, then
--           'pause': delay in ms or '@' and a moment, '' for one that holds until a resume
--           'resume': interval, burst and length of a temporary rate in ms, or 0 0 0
--           'limit': interval, burst, concurrency, and the same of each key; 0 where there is none
--           'key', a limit of one key: the key, 'set' or 'drop', weight, interval, burst, concurrency, how many keys may have one
-- reply     'CHANGED', or 'TOO_MANY' topics, or 'TOO_MANY_KEYS': nothing happened
-- upholds   P14 every claim after this one obeys it      P8 the first write needs no memory
-- cost      O(1) for each topic with controls; one publish

local kind, topic, most = ARGV[3], ARGV[4], tonumber(ARGV[5])
local tools = controlTools()
local control = tools.read(call('HGET', CONTROLS, topic) or '')

local function number(place)
  return tonumber(ARGV[place]) or 0
end

local limits = PREFIX .. 'limits:' .. topic
local isOwnSet = kind == 'key' and ARGV[7] == 'set'

if kind == 'limit' then
  -- What the old rate let through counts for the new one.
  control[RATE], control[RATE + 1], control[CONCURRENCY] = number(6), number(7), number(8)
  control[KEY_RATE], control[KEY_RATE + 1], control[KEY_CONCURRENCY] = number(9), number(10), number(11)
  if control[RATE] == 0 then
    control[RATE + 2] = 0
  end
elseif kind == 'key' then
  local isThere = call('HEXISTS', limits, ARGV[6])
  local others = call('HLEN', limits) - isThere
  if isOwnSet and isThere == 0 and others >= number(12) then
    return 'TOO_MANY_KEYS'
  end
  control[OWN_LIMITS] = (isOwnSet or others > 0) and 1 or 0
else
  control[OVER], control[OVER + 1], control[OVER + 2], control[OVER_ENDS] = 0, 0, 0, 0
  control[PAUSED] = 0
  if kind == 'pause' then
    control[PAUSED] = ARGV[6] == '' and MOMENT_MAX or dueOf(ARGV[6]) or 0
  elseif number(6) > 0 then
    control[OVER], control[OVER + 1], control[OVER_ENDS] = number(6), number(7), math.ceil(now + number(8))
  end
end

local others, spent = 0, {}
local all = call('HGETALL', CONTROLS)
for index = 1, #all, 2 do
  if all[index] ~= topic and tools.isOver(tools.read(all[index + 1])) then
    spent[#spent + 1] = all[index]
  elseif all[index] ~= topic then
    others = others + 1
  end
end
if others >= most and not tools.isOver(control) then
  return 'TOO_MANY'
end
writeEvenWhenFull()
for _, name in ipairs(spent) do
  call('HDEL', CONTROLS, name)
end
if tools.isOver(control) then
  call('HDEL', CONTROLS, topic)
else
  tools.write(topic, control)
end
if isOwnSet then
  call('HSET', limits, ARGV[6], table.concat({ ARGV[8], ARGV[9], ARGV[10], ARGV[11] }, ' '))
elseif kind == 'key' then
  call('HDEL', limits, ARGV[6])
end
if hasKeyed and call('HEXISTS', keyed().KEYED, topic) == 1 then
  if kind == 'key' then
    keyed().touch(topic, ARGV[6])
    finishKeyed()
  elseif kind == 'limit' then
    call('HSET', keyed().KEYED, topic, '0') -- Claims tell its keys.
  end
end
redis.pcall(PUBLISH, ARGV[2], ' controls\n' .. topic)
return 'CHANGED'
