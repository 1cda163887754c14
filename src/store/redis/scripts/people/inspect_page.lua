-- inspect_page: the messages of one state, page by page.
-- uses: base ranks control claims lines failures extras successors describe
--
-- KEYS      those of `base`
-- ARGV      now, channel, state, topic or '', limit, due from, due until (or ''), id prefix, text, key or '', then the place after
--           which to go on as the last page gave it: set, number, member ('' at first), and the last death when the walk began
--           ('' at first)
-- reply     the place after the last message looked at (set, number, member; nothing at the end), that last death,
--           how many were looked at, what is shown: see `describe`, and now
--
-- Each state is read in an order that its messages keep while they stay in it, so that each appears once:
--   delayed, ready   the lines by name, each by dueAt and member
--   running          the claims by the end of their lease, each by id
--   dead             by the time of death and id, up to the last death when the walk began
--
-- upholds   P10 at most EXAMINE_MAX messages, SETS_MAX lines or claims, and READ_BYTES_MAX of bodies for each page
-- cost      O(log² n) to find the place, O(log n) for each message looked at

local EXAMINE_MAX, SETS_MAX = 1000, 1000

local state, wanted, limit = ARGV[3], ARGV[4], tonumber(ARGV[5])
local dueFrom, dueUntil = tonumber(ARGV[6]), tonumber(ARGV[7])
local idPrefix, textWanted = ARGV[8], ARGV[9]
local wantedKey = ARGV[10]
local placeSet, placeNumber, placeMember = ARGV[11], ARGV[12], ARGV[13]
local lastDeath = ARGV[14]
if lastDeath == '' and state == 'dead' then
  lastDeath = call('ZRANGE', DEAD, -1, -1, 'WITHSCORES')[2] or ''
end
local bytes, examined, sets = READ_BYTES_MAX, 0, 0

-- A body is read where everything else fits. Returns the payload if the message is wanted.
local function wantedValue(id, dueAt)
  examined = examined + 1
  if sub(id, 1, #idPrefix) ~= idPrefix or (dueFrom and dueAt < dueFrom) or (dueUntil and dueAt >= dueUntil) then
    return nil
  end
  local value = call('HGET', PAYLOAD, id)
  if not value then
    return nil
  end
  bytes = bytes - #value
  local line = headOf(value)
  local key = wantedKey ~= '' and keyAt(line)
  if wantedKey ~= '' and not (key and sub(line, key + 1, -3) == wantedKey) then
    return nil
  end
  if wanted == '' and isControlLine(line) or wanted ~= '' and topicOf(line) ~= wanted then
    return nil
  end
  if textWanted ~= '' then
    -- The body begins behind the first line feed, or behind the policy, whose length stands behind the tab.
    local bodyAt = string.find(value, '[\n\t]') or 0
    local size = byte(value, bodyAt) == 9 and string.match(value, '^(%d+):', bodyAt + 1)
    bodyAt = bodyAt + 1 + (size and #size + 1 + tonumber(size) or 0)
    if not string.find(value, textWanted, bodyAt, true) then
      return nil
    end
  end
  return value
end

local function isSpent()
  return #found >= limit * ROW or examined >= EXAMINE_MAX or bytes <= 0 or sets >= SETS_MAX
end

-- Walks a set in the order of (score, member) from a rank on, up to a score. Calls show(member, score); false when the page
-- ended before the set did.
local function walk(key, rank, to, show)
  while true do
    local page = call('ZRANGE', key, rank, rank + READ_CHUNK - 1, 'WITHSCORES')
    for index = 1, #page, 2 do
      if tonumber(page[index + 1]) > to then
        return true
      end
      if isSpent() then
        return false
      end
      placeNumber, placeMember = page[index + 1], page[index]
      show(page[index], page[index + 1])
    end
    if #page < 2 * READ_CHUNK then
      return true
    end
    rank = rank + READ_CHUNK
  end
end

local function showLine(line)
  local from, to = '-inf', math.floor(now)
  if state == 'delayed' then
    from, to = '(' .. text(math.floor(now)), math.huge
  end
  if dueFrom and (state == 'ready' or dueFrom > now) then
    from = text(dueFrom)
  end
  if dueUntil then
    to = math.min(to, dueUntil)
  end
  -- `from` is '-inf', a score, or one that is left out: ZCOUNT wants the contrary.
  local before = from == '-inf' and '(-inf' or sub(from, 1, 1) == '(' and sub(from, 2) or '(' .. from
  local rank = call('ZCOUNT', line, '-inf', before)
  if placeSet ~= line then
    placeSet, placeNumber, placeMember = line, '', ''
  elseif placeMember ~= '' then
    rank = math.max(rank, rankAfter(line, placeNumber, placeMember))
  end
  sets = sets + 1
  return walk(line, rank, to, function(member, due)
    local isStamped = byte(member, ID_AT - 1) == MARK_BYTE
    local id = isStamped and sub(member, ID_AT) or member
    local value = wantedValue(id, tonumber(due))
    if value then
      showWaiting(id, value, due)
    end
  end)
end

-- The lines of the wanted topic, and of the wanted key.
local function wantedLines()
  if wantedKey == '' then
    return linesOf(wanted)
  end
  local stem = wanted .. '\v' .. wantedKey
  return { lineOf(stem, 0), lineOf(stem, 1), lineOf(stem, 2) }
end

-- The lines from the place on, by name; of one topic only its own.
local function showWaitingState()
  if wanted ~= '' then
    local isThere = placeSet == ''
    for _, line in ipairs(wantedLines()) do
      isThere = isThere or line == placeSet
      if isThere and not showLine(line) then
        return false
      end
    end
    return true
  end
  local from = '[' .. (placeSet == '' and AFTER_CONTROL or placeSet)
  while true do
    local lines = call('ZRANGEBYLEX', LINES, from, '+', 'LIMIT', 0, 100)
    for _, line in ipairs(lines) do
      if isSpent() or not showLine(line) then
        return false
      end
    end
    if #lines < 100 then
      return true
    end
    from = '(' .. lines[#lines]
  end
end

local function showClaim(claim, endsAt)
  sets = sets + 1
  local entries = redis.pcall('HGETALL', claim)
  local ids, entryOf = {}, {}
  for index = 1, entries.err and 0 or #entries, 2 do
    if entries[index] ~= '' then
      ids[#ids + 1] = entries[index]
      entryOf[entries[index]] = entries[index + 1]
    end
  end
  table.sort(ids, isBefore)
  for _, id in ipairs(ids) do
    if placeMember == '' or isBefore(placeMember, id) then
      if isSpent() then
        return false
      end
      placeMember = id
      local due = readEntry(entryOf[id])
      local value = wantedValue(id, tonumber(due))
      if value then
        showRunning(id, value, claim, entryOf[id], endsAt)
      end
    end
  end
  return true
end

local function showRunningState()
  local rank = 0
  if placeSet ~= '' then
    -- The claim may be gone, or extended meanwhile: then on from where it was.
    local isThere = call('ZSCORE', CLAIMS, placeSet) == placeNumber
    rank = isThere and call('ZRANK', CLAIMS, placeSet) or rankAfter(CLAIMS, placeNumber, placeSet)
  end
  while true do
    local page = call('ZRANGE', CLAIMS, rank, rank + READ_CHUNK - 1, 'WITHSCORES')
    for index = 1, #page, 2 do
      local claim = page[index]
      if not string.find(claim, '!%d+$') then
        if isSpent() then
          return false
        end
        if claim ~= placeSet then
          placeSet, placeMember = claim, ''
        end
        placeNumber = page[index + 1]
        if not showClaim(claim, page[index + 1]) then
          return false
        end
      end
    end
    if #page < 2 * READ_CHUNK then
      return true
    end
    rank = rank + READ_CHUNK
  end
end

local function showDeadState()
  local rank = placeMember == '' and 0 or rankAfter(DEAD, placeNumber, placeMember)
  return walk(DEAD, rank, tonumber(lastDeath) or 0, function(id, diedAt)
    local _, _, _, dueAt = failureOf(id)
    local value = wantedValue(id, dueAt)
    if value then
      showDead(id, value, diedAt)
    end
  end)
end

local showState = { delayed = showWaitingState, ready = showWaitingState, running = showRunningState, dead = showDeadState }
local place = showState[state]() and {} or { placeSet, placeNumber, placeMember }
return { place, lastDeath, examined, shown, string.format('%.3f', now) }
