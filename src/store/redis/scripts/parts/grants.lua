-- grants: handing messages out under a lease, and what the reply of a claim looks like.
--
-- The token is new for each claim, and stays the same while the lease is extended. It is never given twice, even by a
-- replica that was promoted and lost the last numbers: the nonce is this claimer's and this claim's own.
--
-- What is written and said of messages that share topic, moment and attempt is made once for all of them.

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

-- Neighbours with the same place, dueAt and attempt are one group.
local groupPlace, groupDueText, groupAttempt
local function beginGroup(place, dueText, attempt)
  if place ~= groupPlace or dueText ~= groupDueText or attempt ~= groupAttempt then
    groupPlace, groupDueText, groupAttempt = place, dueText, attempt
    local size = #groups
    groups[size + 1], groups[size + 2], groups[size + 3], groups[size + 4] = place, dueText, attempt, granted
  end
end

-- `of`: the topic, its place, and the record that was made for it last, which mostly fits the next one too.
local function grant(of, dueText, attempt, id, value)
  if of.dueText ~= dueText or of.attempt ~= attempt then
    of.dueText, of.attempt = dueText, attempt
    of.record = pack('>I6I4', tonumber(dueText), attempt) .. of.topic .. FILLING .. token
  end
  beginGroup(of.place, dueText, attempt)
  granted = granted + 1
  local second = granted * 2
  local first = second - 1
  leases[first], leases[second] = endsAt, id
  runs[first], runs[second] = id, of.record
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
