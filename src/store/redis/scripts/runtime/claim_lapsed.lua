-- claim_lapsed: takes over leases that ended without an answer, the oldest first, whatever their topic; not the asker's own.
-- uses: base claims lines waking rates keyed failures
--
-- KEYS      those of `base`, the new claim
-- ARGV      now, channel, limit, lease in ms, owner
-- reply     now, when to ask again ('NO_TASK', 'EXPIRED' or ms), how many messages had no body and were dropped,
--           1 if leases of the asker's own have ended, else 0; the lines; rows of six for each message:
--           id, payload, place of the line (from 1), dueAt, attempt, firstDueAt or 0; and the lapses of each
-- upholds   P3 the old token is powerless from here on      P6 the attempt was counted when it began
-- cost      O(log n) for each claim looked at, at most LOOK_MAX; O(1) for each message; READ_BYTES_MAX of bodies

local LOOK_MAX, COMING_MAX = 1000, 50

local limit, leaseMs, asker = tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]
local CLAIM = KEYS[PLACES_AT]
local bytes = READ_BYTES_MAX
local isOwn, isMore, orphans = 0, false, 0
local rows, lapsesOf, lines, placeOf, held = {}, {}, {}, {}, {}

local function placeIn(line)
  if not placeOf[line] then
    lines[#lines + 1] = line
    placeOf[line] = #lines
  end
  return placeOf[line]
end

local function grant(id, value, line, due, stamp)
  local attempts, lapses, firstDueAt = failureOf(id)
  local row = #rows
  rows[row + 1], rows[row + 2], rows[row + 3] = id, value, placeIn(line)
  rows[row + 4], rows[row + 5], rows[row + 6] = due, attempts + 1, firstDueAt
  lapsesOf[#lapsesOf + 1] = lapses
  held[#held + 1] = id
  held[#held + 1] = makeEntry(due, placeIn(line), stamp)
end

local function holdsAny(entries, ownEnd)
  for index = 1, #entries, 2 do
    local _, _, _, itsEnd = readEntry(entries[index + 1])
    if entries[index] ~= '' and itsEnd == ownEnd then
      return true
    end
  end
  return false
end

-- Takes what has this end out of a claim, as far as limit and bytes go. Returns whether that was all.
local function takeOver(claim, entries, ownEnd)
  local record, all = nil, {}
  for index = 1, #entries, 2 do
    local id, entry = entries[index], entries[index + 1]
    local due, number, stamp, itsEnd = readEntry(entry)
    if id == '' then
      record = entry
    elseif itsEnd == ownEnd then
      local member = memberOf(id, stamp)
      all[#all + 1] = { id = id, due = due, number = number, stamp = stamp, at = tonumber(due), member = member }
    end
  end
  table.sort(all, function(a, b)
    return a.at < b.at or (a.at == b.at and isBefore(a.member, b.member))
  end)
  local claimLines = linesIn(record)
  for _, message in ipairs(all) do
    if #lapsesOf >= limit or bytes <= 0 then
      return false
    end
    local id = message.id
    local value = call('HGET', PAYLOAD, id)
    local line = claimLines[message.number]
    call('HDEL', claim, id)
    if value then
      bytes = bytes - #value
      local itsLine, itsStamp = headOf(value)
      if not line then
        line, message.stamp = itsLine, itsStamp
        countRunning(line, 0)
      end
      grant(id, value, line, message.due, message.stamp)
    else
      orphans = orphans + 1
      if line then
        countRunning(line, -1)
      end
    end
  end
  return true
end

-- The entry of an own end goes when nothing has it; that of a claim stays as long as the claim holds anything.
local function done(claim, entry)
  if entry ~= claim then
    call('ZREM', CLAIMS, entry)
  end
  close(claim)
end

local lapsed = call('ZRANGEBYSCORE', CLAIMS, '-inf', string.format('%.3f', now), 'LIMIT', 0, LOOK_MAX)
if #lapsed > 0 then
  writeEvenWhenFull()
end
for _, entry in ipairs(lapsed) do
  local claim, ownEnd = claimIn(entry)
  local isAskers = ownerOf(claim) == asker
  if isOwn == 0 or not isAskers then
    local entries = redis.pcall('HGETALL', claim)
    if entries.err then
      call('ZREM', CLAIMS, entry) -- No claim any more.
    elseif not holdsAny(entries, ownEnd) then
      done(claim, entry) -- Settled or extended meanwhile.
    elseif isAskers then
      isOwn = 1
    elseif #lapsesOf >= limit or bytes <= 0 then
      isMore = true
      break
    elseif takeOver(claim, entries, ownEnd) then
      done(claim, entry)
    else
      isMore = true
    end
  end
end
if #held > 0 then
  call('HSET', CLAIM, '', makeRecord(lines), unpack(held))
  call('ZADD', CLAIMS, text(math.ceil(now + leaseMs)), CLAIM)
end
writeRunning()
finishKeyed()
wake('', '')

local nextTime = 'NO_TASK'
if isMore or #lapsed == LOOK_MAX then
  nextTime = 'EXPIRED'
else
  -- The first that others hold. Where many of the asker's own come before it, it asks again when they are over.
  local coming = call('ZRANGEBYSCORE', CLAIMS, '(' .. string.format('%.3f', now), '+inf', 'WITHSCORES', 'LIMIT', 0, COMING_MAX)
  for index = 1, #coming, 2 do
    if ownerOf((claimIn(coming[index]))) ~= asker or index == 2 * COMING_MAX - 1 then
      nextTime = waiting(tonumber(coming[index + 1]) - now)
      break
    end
  end
end
return { string.format('%.3f', now), nextTime, orphans, isOwn, lines, rows, lapsesOf }
