-- count_topics: counts by topic, for named topics or page by page.
-- uses: base control lines extras successors
--
-- KEYS      those of `base`
-- ARGV      now, channel, 'named', then the topics
--           now, channel, 'lines', the line after which to go on ('' at first), how many
--           now, channel, 'running', 'died' or 'succeeding', cursor ('0' at first), how many
-- reply     the place where to go on ('' or '0' at the end), rows of five: topic, waiting, running, dead, earliest dueAt or ''
--
-- Topics with waiting messages are found by their lines, those that only run, only have dead ones, or only have messages that
-- wait for one that runs, by the counts of these. Each stage leaves out what an earlier one shows.
--
-- cost      O(1) for each topic

local stage = ARGV[3]
local rows = {}

local function succeeding(topic)
  return math.max(0, tonumber(call('HGET', SUCCEEDING, topic) or 0) or 0)
end

local function show(topic, waiting, running, dead, head)
  local size = #rows
  rows[size + 1], rows[size + 2], rows[size + 3], rows[size + 4] = topic, waiting + succeeding(topic), running, dead
  rows[size + 5] = head and text(head) or ''
end

local function countOf(key, topic)
  return math.max(0, tonumber(call('HGET', key, topic) or 0) or 0)
end

-- Counts a topic; `line`: only if that is the first of its lines.
local function count(topic, line)
  local waiting, head, first = 0, nil, nil
  for priority = 0, 2 do
    local its = lineOf(topic, priority)
    local size = call('ZCARD', its)
    if size > 0 then
      waiting, first = waiting + size, first or its
      local moment = tonumber(call('ZSCORE', HEADS, its) or call('ZRANGE', its, 0, 0, 'WITHSCORES')[2])
      head = math.min(head or moment, moment)
    end
  end
  if not line or line == first then
    show(topic, waiting, countOf(RUNNING, topic), countOf(DIED, topic), head)
  end
  return waiting
end

if stage == 'named' then
  for index = 4, #ARGV do
    count(ARGV[index])
  end
  return { '', rows }
end

local place, size = ARGV[4], tonumber(ARGV[5])
if stage == 'lines' then
  local lines = call('ZRANGEBYLEX', LINES, '(' .. (place == '' and AFTER_CONTROL or place), '+', 'LIMIT', 0, size)
  for _, line in ipairs(lines) do
    count(topicOf(line), line)
  end
  return { #lines == size and lines[#lines] or '', rows }
end

local key = ({ running = RUNNING, died = DIED, succeeding = SUCCEEDING })[stage]
local page = call('HSCAN', key, place, 'COUNT', size)
for index = 1, #page[2], 2 do
  local topic = page[2][index]
  local isShown = byte(topic, 1) == CONTROL_BYTE or (stage ~= 'running' and call('HEXISTS', RUNNING, topic) == 1)
  isShown = isShown or (stage == 'succeeding' and call('HEXISTS', DIED, topic) == 1)
  for priority = 0, 2 do
    isShown = isShown or call('EXISTS', lineOf(topic, priority)) == 1
  end
  if not isShown then
    show(topic, 0, countOf(RUNNING, topic), countOf(DIED, topic))
  end
end
return { page[1], rows }
