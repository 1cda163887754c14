-- lines: how messages begin and end to wait, and whom that wakes.
--
-- A worker that watches a topic was told its head, or that it is empty. So a message that enters before the head of its
-- topic must wake those who watch it, and no other needs to: an overdue backlog causes no wake-ups. Who that is: `watch`.

local function memberOf(id, stamp)
  return stamp == '' and id or stamp .. MARK .. id
end

-- Priority, topic and stamp of a payload. Bytes that no client of ours wrote cost their own message and nothing else.
local function headOf(value)
  local stamp = ''
  local at = 1
  if byte(value, 1) == MARK_BYTE then
    stamp, at = sub(value, 2, ID_AT - 1), ID_AT
  end
  local priority = sub(value, at + 7, at + 7)
  local ends = string.find(value, '[\n\t]', at + 8) or 0
  return lineOf(sub(value, at + 8, ends - 1), priority), stamp
end

-- The line and the member of a message, and its moment there as text; no moment if it does not wait.
local function waitingPlace(id, value)
  local line, stamp = headOf(value)
  local member = memberOf(id, stamp)
  local found = redis.pcall('ZSCORE', line, member)
  return line, member, type(found) == 'string' and found or nil
end

-- A message begins to wait, or to wait for another moment; `entered` says so of its line.
local function stand(line, due, member)
  call('ZADD', line, due, member)
  if keyAt(line) then
    keyed().stand(line, due, member)
  end
end

-- It waits no more; `left` says so of its line.
local function unstand(line, member)
  call('ZREM', line, member)
  if keyAt(line) then
    keyed().unstand(line, member)
  end
end

-- Its user moves it: if it held its key, it does so no more.
local function release(line, member)
  if keyAt(line) then
    keyed().release(line, member)
  end
end

-- Topics whose watchers are to be woken, and for which moment: see `wake`.
local woken, wokenFor = {}, {}

-- Those who watch a topic should ask again, for what is due then. `wake` tells them, once for all topics of a call.
local function rouse(topic, dueAt)
  if not wokenFor[topic] then
    woken[#woken + 1] = topic
  end
  wokenFor[topic] = math.min(wokenFor[topic] or dueAt, dueAt)
end

-- A message that is due then entered a line: does `heads` follow, and who is woken?
local function entered(line, dueAt)
  if keyAt(line) then
    return -- What that means for its key, `keyed` says at the end of the script.
  end
  local head = call('ZSCORE', HEADS, line)
  if head and tonumber(head) <= dueAt then
    return
  end
  if not head then
    call('ZADD', LINES, '0', line)
    -- Mostly this very message. A line whose head was lost gets it back here.
    dueAt = math.min(dueAt, tonumber(call('ZRANGE', line, 0, 0, 'WITHSCORES')[2]))
  end
  local stem = sub(line, 1, -2)
  local heads = call('ZMSCORE', HEADS, stem .. '0', stem .. '1', stem .. '2')
  call('ZADD', HEADS, text(dueAt), line)
  for priority = 1, 3 do
    if heads[priority] and tonumber(heads[priority]) <= dueAt then
      return
    end
  end
  rouse(topicOf(line), dueAt)
end

-- Messages left a line. Returns the moment of its first, as text; nothing where none is left.
local function left(line)
  if keyAt(line) then
    return nil
  end
  local first = call('ZRANGE', line, 0, 0, 'WITHSCORES')[2]
  if first then
    call('ZADD', HEADS, first, line)
  else
    call('ZREM', HEADS, line)
    call('ZREM', LINES, line)
  end
  return first
end
