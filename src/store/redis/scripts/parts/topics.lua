-- topics: how many messages of each topic are where. Noted while a script works, written once per topic at its end;
-- a topic without messages vanishes, and its number is never given again.

local moved = {}
local nameOf = {}

-- `place`: 1 waiting, 2 running, 3 dead.
local function tally(topic, place, by)
  local counts = moved[topic]
  if counts == nil then
    counts = { 0, 0, 0 }
    moved[topic] = counts
  end
  counts[place] = counts[place] + by
end

local function topicName(topic)
  local name = nameOf[topic]
  if name == nil then
    name = sub(call('HGET', TOPICS, topic) or '', 19)
    nameOf[topic] = name
  end
  return name
end

local function writeTallies()
  for topic, by in pairs(moved) do
    local entry = call('HGET', TOPICS, topic)
    local waiting, running, dead = 0, 0, 0
    if entry then
      waiting, running, dead = unpackNumber('>I6I6I6', entry)
      nameOf[topic] = nameOf[topic] or sub(entry, 19)
    end
    waiting = math.max(0, waiting + by[1])
    running = math.max(0, running + by[2])
    dead = math.max(0, dead + by[3])
    if waiting + running + dead > 0 then
      call('HSET', TOPICS, topic, pack('>I6I6I6', waiting, running, dead) .. (nameOf[topic] or ''))
    else
      -- Perhaps without an entry: a new topic whose only message was replaced in the same batch.
      call('HDEL', TOPICS, topic)
      call('HDEL', TOPIC_NUMBERS, nameOf[topic] or '')
    end
  end
  moved = {}
end
