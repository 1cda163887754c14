-- claims: what one claim handed out, under one token and one lease.
--
--   claim:OWNER/TOKEN   ''  -> its lines, each followed by a line feed, when it was made, and a filling
--                       id  -> dueAt [line number [stamp]] [!end]
--   claims              claim -> end          claim!end -> end
--
-- The filling makes the record longer than 64 bytes: a hash of shorter ones Redis keeps as a list, and searches that from
-- its beginning for every entry. Most messages come from the first line and have no stamp, so that dueAt is all there is.
-- An extension moves the end of the whole claim. Messages that it does not name keep theirs, written behind them, and an
-- entry of their own in `claims`.

local FILLING = string.rep(' ', 64)

-- dueAt as text, the number of the line, the stamp, and the end of its own or ''.
local function readEntry(entry)
  local due, line, stamp, ownEnd = string.match(entry, '^([^ !]+) ?(%d*) ?([^ !]*)!?(%d*)$')
  local at = due and tonumber(due)
  if not at or at ~= at then
    return '0', 0, '', ''
  end
  return due, tonumber(line) or 1, stamp, ownEnd
end

local function makeEntry(due, line, stamp)
  if stamp ~= '' then
    return due .. ' ' .. line .. ' ' .. stamp
  end
  return line == 1 and due or due .. ' ' .. line
end

local function linesIn(record)
  local lines, from = {}, 1
  local ends = record and string.find(record, '\n', 1, true)
  while ends do
    lines[#lines + 1] = sub(record, from, ends - 1)
    from = ends + 1
    ends = string.find(record, '\n', from, true)
  end
  return lines
end

local function makeRecord(lines)
  return table.concat(lines, '\n') .. '\n' .. text(math.floor(now)) .. FILLING
end

-- When a claim was made, as text.
local function madeAt(record)
  return record and string.match(record, '(%d+) +$') or '0'
end

-- The owner in the name of a claim: what stands before its last slash.
local function ownerOf(claim)
  return string.match(sub(claim, #CLAIM_PREFIX + 1), '^(.*)/') or ''
end

-- The store that made a claim, as the watch names it: what its token begins with.
local function nameOf(claim)
  return string.match(claim, '/%+?([^/-]*)-[^/]*$') or ''
end

-- The claim of an entry in `claims`, and the end that its messages must have of their own, or ''.
local function claimIn(entry)
  local claim, ownEnd = string.match(entry, '^(.*)!(%d+)$')
  return claim or entry, ownEnd or ''
end

-- A claim from which something was taken ends with its last message.
local function close(claim)
  local size = call('HLEN', claim)
  if size == 0 or (size == 1 and call('HEXISTS', claim, '') == 1) then
    call('HDEL', claim, '')
    call('ZREM', CLAIMS, claim)
  end
end

local ranHere = {}
-- Returns the line under which it counts.
local function countRunning(line, by)
  if keyAt(line) then
    line = keyed().count(line, by)
  end
  ranHere[line] = (ranHere[line] or 0) + by
  return line
end

local function writeRunning()
  for line, by in pairs(ranHere) do
    local topic = topicOf(line)
    local count = redis.pcall('HINCRBY', RUNNING, topic, by)
    if type(count) ~= 'number' or count <= 0 then
      call('HDEL', RUNNING, topic)
    end
  end
end

-- Rounded up to a whole microsecond: a claimer that comes back on the dot must not find it a moment too early.
local function waiting(ms)
  return string.format('%.3f', math.ceil(ms * 1000) / 1000)
end
