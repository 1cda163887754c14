-- control: sets, changes or takes back a pause or a limit of a topic, or of the whole queue ('').
-- uses: base controls
--
-- KEYS      those of `base`
-- ARGV      now, channel, kind, topic, how many topics may have controls, then
--           'pause': delay in ms or '@' and a moment, '' for one that holds until a resume
--           'resume': interval, burst and length of a temporary rate in ms, or 0 0 0
--           'limit': interval, burst, concurrency; 0 where there is none
-- reply     'CHANGED', or 'TOO_MANY': nothing happened
-- upholds   P14 every claim after this one obeys it      P8 the first write needs no memory
-- cost      O(1) for each topic with controls; one publish

local kind, topic, most = ARGV[3], ARGV[4], tonumber(ARGV[5])
local tools = controlTools()
local control = tools.read(call('HGET', CONTROLS, topic) or '')

local function number(place)
  return tonumber(ARGV[place]) or 0
end

if kind == 'limit' then
  -- What the old rate let through counts for the new one.
  control[RATE], control[RATE + 1], control[CONCURRENCY] = number(6), number(7), number(8)
  if control[RATE] == 0 then
    control[RATE + 2] = 0
  end
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
redis.pcall(PUBLISH, ARGV[2], ' controls\n' .. topic)
return 'CHANGED'
