-- grants: handing messages out under a lease, and what the reply of a claim looks like.
--
-- The token is new for each claim, never given twice (even by a replica that was promoted and lost the last numbers:
-- the nonce is the client's own), and stays the same while the lease is extended.
--
-- Messages that share topic, moment and attempt are a group: what is written and said of all of them is made once.

local leases = batch('ZADD', LEASES)
local runs = batch('HSET', RUNNING)
-- The groups are rows of four: place of the topic's name, dueAt, attempt, how many messages came before.
local groups, ids, values = {}, {}, {}
local granted = 0
local token, endsAt

local function beginGrants(nonce, leaseMs)
  writeEvenWhenFull()
  token = text(takeNumbers(1) + 1) .. '.' .. nonce
  endsAt = text(math.ceil(now + leaseMs))
end

local groupTopic, groupDueText, groupAttempt, record
local function beginGroup(place, topic, dueText, attempt)
  if topic == groupTopic and dueText == groupDueText and attempt == groupAttempt then
    return
  end
  groupTopic, groupDueText, groupAttempt = topic, dueText, attempt
  record = pack('>I6I4', tonumber(dueText), attempt) .. topic .. token
  local size = #groups
  groups[size + 1], groups[size + 2], groups[size + 3], groups[size + 4] = place, dueText, attempt, granted
end

-- Hands out a message of the group that began last.
local function grant(id, value)
  granted = granted + 1
  local second = granted * 2
  local first = second - 1
  leases[first], leases[second] = endsAt, id
  runs[first], runs[second] = id, record
  ids[granted], values[granted] = id, value
end

local function writeGrants()
  leases.size, runs.size = granted * 2, granted * 2
  send(leases)
  send(runs)
end

-- Rounded up to a whole microsecond: a claimer that comes back on the dot must not find it a moment too early.
local function waiting(ms)
  return string.format('%.3f', math.ceil(ms * 1000) / 1000)
end

local function claimed(nextTime, orphans, names)
  return { string.format('%.3f', now), nextTime, token or '', orphans, names, groups, ids, values }
end
