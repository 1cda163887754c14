-- record: adds to the figures of the current minute.
-- uses: base
--
-- KEYS      those of `base`
-- ARGV      now, channel, how long a minute is kept in seconds, how many topics are kept by name, then six for each topic:
--           topic, completed, failed, dead, skipped, lateness: bucket and count in turn, joined by commas
-- reply     nothing of use
--
-- A minute is a hash: topic -> a list in JSON: completed, failed, dead, skipped, bucket, count, bucket, count...
-- Topics beyond the limit are added up under ''.
--
-- cost      O(1) for each topic and each of its buckets

local minute = PREFIX .. 'figures:' .. text(math.floor(now / 60000))
local keptS, topicsMax = ARGV[3], tonumber(ARGV[4])
local NUMBERS = 4

local function read(topic)
  local isRead, figures = pcall(cjson.decode, call('HGET', minute, topic) or '[0,0,0,0]')
  if not isRead or type(figures) ~= 'table' or #figures < NUMBERS then
    figures = { 0, 0, 0, 0 }
  end
  return figures
end

local function add(figures, at)
  for index = 1, NUMBERS do
    figures[index] = figures[index] + tonumber(ARGV[at + index])
  end
  local placeOf = {}
  for place = NUMBERS + 1, #figures, 2 do
    placeOf[figures[place]] = place
  end
  for bucket, count in string.gmatch(ARGV[at + NUMBERS + 1], '(%d+),(%d+)') do
    bucket, count = tonumber(bucket), tonumber(count)
    local place = placeOf[bucket]
    if not place then
      place = #figures + 1
      placeOf[bucket] = place
      figures[place], figures[place + 1] = bucket, 0
    end
    figures[place + 1] = figures[place + 1] + count
  end
end

local known = call('HLEN', minute)
local isNew = known == 0
for at = 5, #ARGV, NUMBERS + 2 do
  local topic = ARGV[at]
  if call('HEXISTS', minute, topic) == 0 then
    if known >= topicsMax then
      topic = ''
    else
      known = known + 1
    end
  end
  local figures = read(topic)
  add(figures, at)
  call('HSET', minute, topic, cjson.encode(figures))
end
if isNew then
  call('EXPIRE', minute, keptS)
end
return 1
