-- waking: whom a change of a topic's head wakes, and how that is written down: see `watch`. Uses lines.
--
--   watch   HASH  topic -> the workers that can take its messages, each 'name moment' and a line feed, in order
--
-- Danger: this is a hint and no promise. A server that refuses these writes still hands out messages.

local WATCHERS = 2
-- A worker that looks later than this after its moment is not counted on.
local LATE_MS = 1000
-- What lies so long after its moment, its watchers have left lying.
local LYING_MS = 20
local TOPICS_NAMED_MAX = 20
local WATCH = PREFIX .. 'watch'

local try = redis.pcall

-- `wokenAt`: when its workers were woken last for what was due before; under the name '~'.
local function readWatch(entry)
  local list = {}
  for name, moment in string.gmatch(entry or '', '([^ \n]+) (%d+)\n') do
    if name == '~' then
      list.wokenAt = tonumber(moment)
    else
      list[#list + 1] = { name = name, at = tonumber(moment) }
    end
  end
  return list
end

-- An empty list of a topic that has a message says that all were woken, and none has time.
local function writeWatch(topic, list, hasHead)
  if #list == 0 and not hasHead then
    try('HDEL', WATCH, topic)
    return
  end
  local parts = {}
  for index, worker in ipairs(list) do
    parts[index] = worker.name .. ' ' .. text(worker.at) .. '\n'
  end
  if list.wokenAt and list.wokenAt > now - LATE_MS then
    parts[#parts + 1] = '~ ' .. text(list.wokenAt) .. '\n'
  end
  try('HSET', WATCH, topic, table.concat(parts))
end

-- Whether anybody heard it. A wake-up names the owner that need not hear it and the topics that it is about; none are all.
local function ring(channel, owner, topics)
  local heard = try(PUBLISH, channel, owner .. '\n' .. topics)
  return type(heard) == 'number' and heard > 0
end

local function ringOne(name, owner, topics)
  return ring(ARGV[2] .. ':' .. name, owner, topics)
end

-- Wakes those who watch the topics that something entered; all, where none hears it. Who gave it back has no room for it.
local function wake(owner, giver)
  if #woken == 0 then
    return
  elseif #woken > TOPICS_NAMED_MAX then
    ring(ARGV[2], owner, '')
    return
  end
  local entries = call('HMGET', WATCH, unpack(woken))
  local hears, unheard = {}, {}
  for index, topic in ipairs(woken) do
    local list = entries[index] and readWatch(entries[index]) or {}
    local size, at, heard = #list, 1, 0
    while list[at] and heard < WATCHERS do
      local name = list[at].name
      if name ~= giver and hears[name] == nil then
        hears[name] = ringOne(name, owner, topic)
      end
      if name ~= giver and hears[name] then
        at, heard = at + 1, heard + 1
      else
        table.remove(list, at)
      end
    end
    if heard == 0 then
      unheard[#unheard + 1] = topic
    end
    local isBelated = wokenFor[topic] < now - LYING_MS
    if isBelated then
      list.wokenAt = math.ceil(now)
    end
    if #list < size or (isBelated and size > 0) then
      writeWatch(topic, list, false)
    end
  end
  if #unheard > 0 then
    ring(ARGV[2], owner, table.concat(unheard, '\n'))
  end
end
