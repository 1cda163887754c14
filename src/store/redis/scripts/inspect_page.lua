-- inspect_page: the messages of one state, page by page.
-- uses: base topics describe
--
-- KEYS      the twelve of `base`
-- ARGV      now, channel, state, topic or '', limit, then the place after which to go on, as the last page gave it:
--           stage, number, seq or '', id;  the first page starts with stage 0
-- reply     the place after the last message looked at (stage, number, seq, id; or nothing at the end),
--           and rows of nine, see `describe`
--
-- Each state is read in an order that its messages keep while they stay in it, so that each appears once:
--   delayed, ready   stages 1 to 3 are the priorities; by dueAt and seq, what was set aside merged with the rest
--   running          stage 1; by dueAt and id, which needs a look at all of them; beyond SORT_MAX by the end of the
--                    lease, which an extension moves: there, one that is extended between two pages may appear twice
--   dead             stage 1; by the time of death and id
--
-- upholds   P10 at most EXAMINE_MAX messages and READ_BYTES_MAX of bodies for each page
-- cost      O(log² n) to find the place, O(log n) for each message looked at

local EXAMINE_MAX = 1000
local SORT_MAX = 10000

local state, wanted, limit = ARGV[3], ARGV[4], tonumber(ARGV[5])
local stage, place, placeSeq, placeId = tonumber(ARGV[6]), tonumber(ARGV[7]), ARGV[8], ARGV[9]

-- As Redis compares members: by bytes. Lua's own comparison follows the server's locale.
local function isBefore(a, b)
  for index = 1, math.min(#a, #b) do
    local x, y = string.byte(a, index), string.byte(b, index)
    if x ~= y then
      return x < y
    end
  end
  return #a < #b
end

-- The rank of the first member after (score, member), by halving the ranks that share the score.
local function rankAfter(key, score, member)
  local low, high = call('ZCOUNT', key, '-inf', '(' .. score), call('ZCOUNT', key, '-inf', score)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if isBefore(member, call('ZRANGE', key, middle, middle)[1]) then
      high = middle
    else
      low = middle + 1
    end
  end
  return low
end

-- Up to `size` entries of a set with scores from `from` to `to`, after the place if there is one.
local function entriesOf(key, from, to, shift, size)
  local rank
  if placeId == '' then
    rank = call('ZCOUNT', key, '-inf', '(' .. from)
  else
    rank = math.max(
      call('ZCOUNT', key, '-inf', '(' .. from),
      rankAfter(key, string.format('%.0f', place - shift), placeSeq .. placeId)
    )
  end
  local entries = {}
  local page = call('ZRANGE', key, rank, rank + size - 1, 'WITHSCORES')
  for index = 1, #page, 2 do
    local score = tonumber(page[index + 1])
    if score > to then
      break
    end
    entries[#entries + 1] = { member = page[index], at = score + shift }
  end
  return entries
end

local function merge(first, second, size)
  local merged, a, b = {}, 1, 1
  while #merged < size and (a <= #first or b <= #second) do
    local x, y = first[a], second[b]
    if not y or (x and (x.at < y.at or (x.at == y.at and isBefore(x.member, y.member)))) then
      merged[#merged + 1] = x
      a = a + 1
    else
      merged[#merged + 1] = y
      b = b + 1
    end
  end
  return merged
end

local function waitingEntries(size)
  local key = KEYS[1 + stage]
  local from, to = 0, math.floor(now)
  if state == 'delayed' then
    from, to = to + 1, ASIDE / 2
  end
  local rest = entriesOf(key, string.format('%.0f', from), to, 0, size)
  local aside = entriesOf(key, string.format('%.0f', from - ASIDE), to - ASIDE, ASIDE, size)
  local entries = merge(aside, rest, size)
  for _, entry in ipairs(entries) do
    entry.seq, entry.id = sub(entry.member, 1, ID_AT - 1), sub(entry.member, ID_AT)
  end
  return entries
end

local function runningEntries(size)
  if call('HLEN', RUNNING) > SORT_MAX then
    local entries = entriesOf(LEASES, '-inf', math.huge, 0, size)
    for _, entry in ipairs(entries) do
      entry.seq, entry.id = '', entry.member
    end
    return entries
  end
  local all = call('HGETALL', RUNNING)
  local entries = {}
  for index = 1, #all, 2 do
    local at, id = unpackNumber('>I6', all[index + 1]), all[index]
    if placeId == '' or at > place or (at == place and isBefore(placeId, id)) then
      entries[#entries + 1] = { at = at, seq = '', id = id }
    end
  end
  table.sort(entries, function(a, b)
    return a.at < b.at or (a.at == b.at and isBefore(a.id, b.id))
  end)
  for index = #entries, size + 1, -1 do
    entries[index] = nil
  end
  return entries
end

local function deadEntries(size)
  local entries = entriesOf(DEAD, '-inf', math.huge, 0, size)
  for _, entry in ipairs(entries) do
    entry.seq, entry.id = '', entry.member
  end
  return entries
end

local entriesIn = { delayed = waitingEntries, ready = waitingEntries, running = runningEntries, dead = deadEntries }
local lastStage = (state == 'delayed' or state == 'ready') and 3 or 1

local budget = { bytes = READ_BYTES_MAX }
local examined = 0

-- Shows the wanted ones of these; false when the page ended before they did.
local function show(entries)
  local ids, values = {}, {}
  for index, entry in ipairs(entries) do
    ids[index] = entry.id
  end
  local read = readBodies(ids, 1, #ids, values, budget)
  for index = 1, read do
    local value = values[index]
    if #found == limit * 9 then
      return false
    end
    place, placeSeq, placeId = entries[index].at, entries[index].seq, entries[index].id
    if value and (wanted == '' or topicName(sub(value, TOPIC_AT, TOPIC_END)) == wanted) then
      describe(ids[index], value)
    end
  end
  examined = examined + read
  return read == #entries
end

local isAtEnd = false
stage = math.max(stage, 1)
repeat
  local size = wanted == '' and limit - #found / 9 or EXAMINE_MAX
  local entries = entriesIn[state](size)
  if show(entries) and #entries < size then
    stage, place, placeSeq, placeId = stage + 1, 0, '', ''
    isAtEnd = stage > lastStage
  end
until isAtEnd or #found >= limit * 9 or examined >= EXAMINE_MAX or budget.bytes <= 0

if isAtEnd then
  return { {}, found }
end
return { { stage, string.format('%.0f', place or 0), placeSeq, placeId }, found }
