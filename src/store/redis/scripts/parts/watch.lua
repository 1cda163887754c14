-- watch: of many workers that sleep, who is told of a topic's head and woken for it, and when each looks again. Uses waking.
--
--   watch      topic -> the workers that can take its messages, each 'name moment' and a line feed, in order
--   looks:SET  ZSET  name -> when it looks again, of the workers that want the same set of topics; expires
--
-- The first two of a topic's workers watch it: their claims are told its head, and wake-ups go to their own channels. The
-- others of the list step in. Beside a name stands the moment by which it claims again; who is late was frozen or cut off.
-- The number of those who hear a wake-up tells whether a process still lives. A worker without room leaves the list, and
-- the next one is woken in its place; where the list has come to its end, everybody is woken, once.
--
-- Danger: this is a hint and no promise. Whatever is written here, a claim hands out what is due to every worker that asks. So
-- nothing here may make a script fail: a server that refuses these writes still hands out messages.

local KNOWN_MAX = 16
-- Where fewer than these look within the fallback, who asks does. The others look once a minute, spread over it, or when they
-- say: a worker of a queue with many partitions looks at each of them less often.
local NEAR_MIN, LOOK_MS_MAX, APART_MS = 4, 60000, 250
-- A look that comes a little early keeps no other.
local EARLY_MS = 50
local LOOKS_PREFIX = PREFIX .. 'looks:'

local function placeOf(list, name)
  for index, worker in ipairs(list) do
    if worker.name == name then
      return index
    end
  end
end

-- Whether a name is among those who watch, without taking the entry apart.
local function isFront(entry, name)
  local at = entry and string.find(entry, name .. ' ', 1, true)
  local ends = at and string.find(entry, '\n', 1, true)
  return ends and (at < ends or at < (string.find(entry, '\n', ends + 1, true) or 0))
end

-- After a list has changed: who came to watch by that hears of it, but for the asker, who has its answer. `before`: who
-- watched until now.
local function callUp(topic, list, before, asker)
  local at = 1
  while at <= WATCHERS and list[at] do
    local name = list[at].name
    if name == asker or before[name] or ringOne(name, '', topic) then
      at = at + 1
    else
      table.remove(list, at)
    end
  end
  if #list == 0 then
    ring(ARGV[2], '', topic)
  end
end

local function watchersOf(list)
  local names = {}
  for index = 1, math.min(#list, WATCHERS) do
    names[list[index].name] = true
  end
  return names
end

-- A worker that is not counted on any more leaves a topic's list.
local function resign(topic, entry, name, hasHead)
  local list = readWatch(entry)
  local place = placeOf(list, name)
  if not place then
    return
  end
  local before = watchersOf(list)
  table.remove(list, place)
  if hasHead then
    callUp(topic, list, before, name)
  end
  writeWatch(topic, list, hasHead)
end

-- Takes those out of the front that are late or dead, and where they left something lying, all but the asker. Returns
-- whether there were any.
local function dropLost(list, asker, isLying)
  local size = #list
  for index = math.min(size, WATCHERS), 1, -1 do
    local worker = list[index]
    if worker.name ~= asker then
      local isAwaited = not isLying and worker.at + LATE_MS >= now
      local heard = isAwaited and try('PUBSUB', NUMSUB, ARGV[2] .. ':' .. worker.name)
      if not heard or heard.err or heard[2] == 0 then
        table.remove(list, index)
      end
    end
  end
  return #list < size
end

-- The asker, and a topic that has a message or had one. Returns the list, whether it changed, and the place
-- of the asker in it. `room`: 'enough' for what comes next, 'some', or 'none'. `isLying`: the asker was handed what the
-- watchers had left lying.
local function attend(topic, entry, asker, room, isLying, hasHead)
  local list = readWatch(entry)
  local before, isChanged = watchersOf(list), false
  local isLeft = isLying and not (list.wokenAt and list.wokenAt > now - LYING_MS)
  if not before[asker] and (isLeft or room ~= 'none') then
    isChanged = dropLost(list, asker, isLeft)
  end
  local place = placeOf(list, asker)
  if place and isLeft and before[asker] and list[WATCHERS + 1] then
    -- It watches and is behind: the next in the list helps, and another one the next time.
    local helper = table.remove(list, WATCHERS + 1)
    if ringOne(helper.name, '', topic) then
      list[#list + 1] = helper
    end
    isChanged = true
  end
  if place and (room == 'none' or (room == 'some' and #list > 1)) then
    table.remove(list, place)
    isChanged = true
  elseif not place and (room == 'enough' or (room == 'some' and #list == 0)) and #list < KNOWN_MAX then
    list[#list + 1] = { name = asker, at = 0 }
    isChanged = true
  end
  if isChanged and hasHead then
    callUp(topic, list, before, asker)
  end
  return list, isChanged, placeOf(list, asker)
end

-- How many others look by then, of those who hear us: who was killed leaves its looks behind, and must not be counted on.
local function nearThatHear(key, asker, by)
  local names, channels, count = call('ZRANGEBYSCORE', key, text(now - LATE_MS), text(by), 'LIMIT', 0, KNOWN_MAX), {}, 0
  for index, name in ipairs(names) do
    channels[index] = ARGV[2] .. ':' .. name
  end
  local heard = try('PUBSUB', NUMSUB, unpack(channels))
  for index, name in ipairs(names) do
    if name ~= asker and (heard.err or heard[2 * index] > 0) then
      count = count + 1
    elseif name ~= asker then
      try('ZREM', key, name)
    end
  end
  return count
end

-- When the asker looks again, by the store's clock, and whether that moment is a new one. A worker that asks before its
-- moment keeps it, so that the looks of many stay spread however often they are woken; but one beyond the fallback only while
-- enough others look within it. (They may be gone; or the clock was set back, and all moments lie far ahead.)
local function nextLook(set, asker, fallbackMs, isWatching, lookMsMax)
  local key = LOOKS_PREFIX .. set
  local own = tonumber((call('ZSCORE', key, asker)))
  local soonest = now + fallbackMs
  local isKept = own and own > now + EARLY_MS
  if isKept and own <= soonest then
    return own, false
  end
  local at = soonest
  if not isWatching and fallbackMs < lookMsMax then
    -- Who is a little late still counts: else a busy machine would look like one whose workers have gone.
    local isNear = own and own >= now - LATE_MS and own <= soonest
    local near = call('ZCOUNT', key, text(now - LATE_MS), text(soonest)) - (isNear and 1 or 0)
    if near >= NEAR_MIN then
      if isKept and own <= now + lookMsMax then
        return own, false
      end
      if nearThatHear(key, asker, soonest) >= NEAR_MIN then
        local last = tonumber(call('ZREVRANGE', key, 0, 0, 'WITHSCORES')[2])
        at = own and now + lookMsMax or math.max(soonest, math.min(last + APART_MS, now + lookMsMax))
      end
    end
  end
  at = math.ceil(at)
  try('ZADD', key, text(at), asker)
  try('ZREMRANGEBYSCORE', key, '-inf', text(now - LATE_MS))
  -- It goes with the last look that is to come: those who want this set of topics may be gone for good.
  local last = try('ZREVRANGE', key, 0, 0, 'WITHSCORES')
  local lastAt = math.max(at, tonumber(last[2]) or 0)
  try('PEXPIRE', key, text(math.ceil(lastAt - now) + 2 * LATE_MS))
  return at, true
end

local function forgetLook(set, name)
  if set ~= '' then
    try('ZREM', LOOKS_PREFIX .. set, name)
  end
end
