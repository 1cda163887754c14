-- forecast: how many waiting messages are due in each bar between two edges.
-- uses: base control remembered
--
-- KEYS      those of `base`
-- ARGV      now, channel, topic or '', then the edges in ascending order
-- reply     1 if exact, else 0; a count for each bar
--
-- Idea: a line is sorted by moment, so that a bar of it costs one ZCOUNT. Where lines times edges are too many, the
-- longest lines are counted, and the rest is taken to be spread as they are.
--
-- cost      at most COUNTS_MAX ranges of O(log n), some 4 us each, and O(1) for each of at most LINES_MAX lines

local COUNTS_MAX, LINES_MAX = 500, 250

local topic = ARGV[3]
local bars = #ARGV - 4
local lines, total = {}, 0
if topic ~= '' then
  lines = linesOf(topic)
elseif call('ZCARD', HEADS) <= LINES_MAX then
  lines = call('ZRANGE', HEADS, 0, -1)
else
  lines = call('ZRANDMEMBER', HEADS, LINES_MAX)
  -- What neither runs nor is dead nor remembered waits.
  total = call('HLEN', PAYLOAD) - call('ZCARD', REMEMBERED) - call('ZCARD', DEAD) - countControl()
  for _, count in ipairs(call('HVALS', RUNNING)) do
    total = total - math.max(0, tonumber(count) or 0)
  end
end

local sizes, seen = {}, 0
for _, line in ipairs(lines) do
  local isHidden = topic == '' and isControlLine(line)
  sizes[line] = isHidden and 0 or call('ZCARD', line)
  seen = seen + sizes[line]
end
total = math.max(total, seen)
table.sort(lines, function(a, b)
  return sizes[a] > sizes[b]
end)

local counts, counted, left = {}, 0, COUNTS_MAX
for bar = 1, bars do
  counts[bar] = 0
end

-- Edges before the first and behind the last message of a line need no count.
local function count(line)
  local first = tonumber(call('ZRANGE', line, 0, 0, 'WITHSCORES')[2])
  local last = tonumber(call('ZRANGE', line, -1, -1, 'WITHSCORES')[2])
  local before
  for bar = 0, bars do
    local edge = tonumber(ARGV[4 + bar])
    local upTo = 0
    if edge > last then
      upTo = sizes[line]
    elseif edge > first then
      upTo = call('ZCOUNT', line, '-inf', '(' .. ARGV[4 + bar])
    end
    if bar > 0 then
      counts[bar] = counts[bar] + upTo - before
    end
    before = upTo
  end
end

for index, line in ipairs(lines) do
  if sizes[line] > 0 and (left > bars or index == 1) then
    count(line)
    counted = counted + sizes[line]
    left = left - bars - 1
  end
end

if counted < total and counted > 0 then
  for bar = 1, bars do
    counts[bar] = math.floor(counts[bar] * total / counted + 0.5)
  end
end
return { counted == total and 1 or 0, counts }
