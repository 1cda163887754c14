-- count_topics: counts by topic, for named topics or page by page.
-- uses: base control lines extras successors
--
-- KEYS      those of `base`
-- ARGV      now, channel, 'named', then the topics
--           now, channel, stage, the place where to go on in it ('' at its beginning), how many
-- reply     the stage and the place where to go on ('' for both at the end), rows of five: topic, waiting, running, dead,
--           earliest dueAt or ''
--
-- Topics with waiting messages are found by their lines, those that only run, only have dead ones, or only have messages that
-- wait for one that runs, by the counts of these. Each stage leaves out what an earlier one shows; the next one begins in
-- the same call while fewer have been looked at than were asked for.
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
  for _, its in ipairs(linesOf(topic)) do
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
  return { '', '', rows }
end

local STAGES = { 'lines', 'running', 'died', 'succeeding' }
local COUNTS = { running = RUNNING, died = DIED, succeeding = SUCCEEDING }

-- Both answer where to go on, '' at the end, and at how many they looked.
local function lookAtLines(place, size)
  local lines = call('ZRANGEBYLEX', LINES, '(' .. (place == '' and AFTER_CONTROL or place), '+', 'LIMIT', 0, size)
  for _, line in ipairs(lines) do
    count(topicOf(line), line)
  end
  return #lines == size and lines[#lines] or '', #lines
end

local function lookAtCounts(name, place, size)
  local page = call('HSCAN', COUNTS[name], place == '' and '0' or place, 'COUNT', size)
  for index = 1, #page[2], 2 do
    local topic = page[2][index]
    local isShown = byte(topic, 1) == CONTROL_BYTE or (name ~= 'running' and call('HEXISTS', RUNNING, topic) == 1)
    isShown = isShown or (name == 'succeeding' and call('HEXISTS', DIED, topic) == 1)
    isShown = isShown or call('EXISTS', unpack(linesOf(topic))) > 0
    if not isShown then
      show(topic, 0, countOf(RUNNING, topic), countOf(DIED, topic))
    end
  end
  return page[1] == '0' and '' or page[1], #page[2] / 2
end

local place, left = ARGV[4], tonumber(ARGV[5])
local isBegun = false
for _, name in ipairs(STAGES) do
  isBegun = isBegun or name == stage
  if isBegun then
    if left <= 0 then
      return { name, '', rows }
    end
    local next, looked
    if name == 'lines' then
      next, looked = lookAtLines(place, left)
    else
      next, looked = lookAtCounts(name, place, left)
    end
    if next ~= '' then
      return { name, next, rows }
    end
    place, left = '', left - looked
  end
end
return { '', '', rows }
