-- grants: handing messages out under a lease, and what the reply of a claim looks like.
--
-- The token is new for each claim, never given twice (even by a replica that was promoted and lost the last numbers:
-- the nonce is the client's own), and stays the same while the lease is extended.

local leases = batch('ZADD', LEASES)
local runs = batch('HSET', RUNNING)
local rows = {}
local token, endsAt

local function beginGrants(nonce, leaseMs)
  writeEvenWhenFull()
  token = text(call('INCR', SEQUENCE)) .. '.' .. nonce
  endsAt = text(math.ceil(now + leaseMs))
end

local granted = 0
-- `head` is what the claimer must know beside the tail: place of the topic's name, dueAt, attempt.
local function grant(id, record, head, value)
  local first, second = granted * 2 + 1, granted * 2 + 2
  leases[first], leases[second] = endsAt, id
  runs[first], runs[second] = id, record
  rows[first], rows[second] = head .. id, sub(value, 13)
  granted = granted + 1
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
  return { string.format('%.3f', now), nextTime, token or '', orphans, names, rows }
end
