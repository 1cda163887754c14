-- placing: one new message finds its place, whether a put brings it or a settlement carries it. Uses order, lines,
-- failures, claims, extras, successors and remembered; stamps are reserved before.

-- So many messages are looked for in claims, times claims.
local SEIZE_LOOKS_MAX = 100000

-- Takes a message that runs away from its holder; false where its claim is not found.
local function seize(id, line)
  local first = 0
  while first < SEIZE_LOOKS_MAX do
    local page = call('ZRANGE', CLAIMS, first, first + 99)
    for _, claim in ipairs(page) do
      if not string.find(claim, '!%d+$') and redis.pcall('HDEL', claim, id) == 1 then
        close(claim)
        countRunning(line, -1)
        return true
      end
    end
    if #page < 100 then
      return false
    end
    first = first + 100
  end
  return false
end

-- The body in a payload: behind the first line feed, or behind the policy, whose length stands behind the tab.
local function bodyOf(value)
  local at = string.find(value, '[\n\t]') or 0
  local size = byte(value, at) == 9 and string.match(value, '^(%d+):', at + 1)
  return sub(value, at + 1 + (size and #size + 1 + tonumber(size) or 0))
end

-- Takes away what an id stood for; false if it runs, and is not seized.
local function discard(id, isSeized)
  local value = call('HGET', PAYLOAD, id)
  local line, member, due = waitingPlace(id, value)
  if due then
    unstand(line, member)
    left(line)
  elseif call('ZREM', DEAD, id) == 1 then
    countDied(line, -1)
  elseif not isSeized or not seize(id, line) then
    return false
  end
  dropSuccessor(id)
  forget(id)
  forgetExtras(id)
  return true
end

-- Whether an id is taken, by a message or by what is remembered of one; not by what is over.
local function isTakenStill(id)
  if call('HEXISTS', PAYLOAD, id) == 0 then
    return false
  end
  local value = rememberedOf(id)
  return not value or untilOf(value) > now
end

-- The seven digits of when what waits under this id was produced: the message, or the successor of one that runs.
local function producedIn(id)
  local record = successorOf(id)
  if record then
    local _, _, payload = readSuccessor(record)
    return sub(payload, 1, 7)
  end
  local value = call('HGET', PAYLOAD, id)
  local _, _, due = waitingPlace(id, value)
  local at = byte(value, 1) == MARK_BYTE and ID_AT or 1
  return due and sub(value, at, at + 6)
end

-- A payload that was produced when the one was that it replaces, and its moment, at most so long after that.
local function bound(latestMs, payload, dueAt, produced)
  produced = produced or sub(payload, 1, 7)
  local producedAt = 0
  for place = 1, 7 do
    producedAt = producedAt * BASE + digitOf(byte(produced, place) or 0)
  end
  return produced .. sub(payload, 8), math.min(dueAt, producedAt + latestMs)
end

-- Returns nothing if it was simply stored, else 'duplicate', 'replaced' or 'succeeds'.
-- ifExists: 'keep', 'replace', 'replace=' and for how long replacing can postpone in ms, 'seize', or 'seize=' and the body that
-- must be there.
-- tags: each behind a line feed.
local function placeOne(line, ifExists, dueAt, id, payload, tags)
  local isTaken = isTakenStill(id)
  local isSeized = sub(ifExists, 1, 5) == 'seize'
  local expected = isSeized and #ifExists > 5 and sub(ifExists, 7)
  if (isTaken and ifExists == 'keep') or (expected and not (isTaken and bodyOf(call('HGET', PAYLOAD, id)) == expected)) then
    return 'duplicate'
  end
  if rememberedOf(id) then
    forgetRemembered(id)
    isTaken = false
  end
  local latestMs = sub(ifExists, 1, 8) == 'replace=' and tonumber(sub(ifExists, 9))
  if latestMs then
    payload, dueAt = bound(latestMs, payload, dueAt, isTaken and producedIn(id))
  end
  if isTaken and not discard(id, isSeized) then
    keepSuccessor(id, dueAt, tags, payload)
    return 'succeeds'
  end
  local digits, lastDigit = nextStamp()
  stand(line, text(dueAt), digits .. lastDigit .. MARK .. id)
  call('HSET', PAYLOAD, id, MARK .. digits .. lastDigit .. payload)
  if tags ~= '' then
    setTags(id, tags)
  end
  entered(line, dueAt)
  return isTaken and 'replaced' or nil
end
