-- placing: one new message finds its place, whether a put brings it or a settlement carries it. Uses order, lines,
-- failures, claims, extras and remembered; stamps are reserved before.

-- So many messages are looked for in claims, times claims.
local SEIZE_LOOKS_MAX = 100000

-- Takes a message that runs away from whoever has it; false where its claim is not found.
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
    call('ZREM', line, member)
    left(line)
  elseif call('ZREM', DEAD, id) == 1 then
    countDied(line, -1)
  elseif not isSeized or not seize(id, line) then
    return false
  end
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

-- Returns nothing if it was simply stored, else 'duplicate', 'replaced' or 'running'.
-- ifExists: 'keep', 'replace', 'seize', or 'seize=' and the body that must be there.
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
  if isTaken and not discard(id, isSeized) then
    return 'running'
  end
  local digits, lastDigit = nextStamp()
  call('ZADD', line, text(dueAt), digits .. lastDigit .. MARK .. id)
  call('HSET', PAYLOAD, id, MARK .. digits .. lastDigit .. payload)
  if tags ~= '' then
    setTags(id, tags)
  end
  entered(line, dueAt)
  return isTaken and 'replaced' or nil
end
