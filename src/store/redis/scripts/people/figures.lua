-- figures: what `record` added, by minute and topic.
-- uses: base
--
-- KEYS      those of `base`
-- ARGV      now, channel, first minute, last minute (in minutes since 1970), topic (or nothing: all topics), and how many
--           minutes a figure is kept
-- reply     the minute at which to go on ('' at the end), rows of three: minute, topic, list in JSON as `record` made it
-- cost      O(1) for each minute, at most MINUTES_MAX, and for each row; a page ends after the minute that reaches ROWS_MAX

local MINUTES_MAX, ROWS_MAX = 600, 2000

local first, last, hasTopic, topic = tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5] == 'of', ARGV[6]
local oldest = math.floor(now / 60000) - tonumber(ARGV[7])
local rows = {}
local minute = math.max(first, oldest)
last = math.min(last, math.floor(now / 60000))
local stop = minute + MINUTES_MAX
while minute <= last and minute < stop and #rows < 3 * ROWS_MAX do
  local name = text(minute)
  local key = PREFIX .. 'figures:' .. name
  local all = hasTopic and { topic, call('HGET', key, topic) } or call('HGETALL', key)
  for index = 1, #all, 2 do
    if all[index + 1] then
      rows[#rows + 1] = name
      rows[#rows + 1] = all[index]
      rows[#rows + 1] = all[index + 1]
    end
  end
  minute = minute + 1
end
return { minute <= last and text(minute) or '', rows }
