-- grants: handing a message out under a lease, and what the reply of a claim looks like.
--
-- The token is new for each claim, never given twice (even by a replica that was promoted and lost the last numbers:
-- the nonce is the client's own), and stays the same while the lease is extended.

local leases = batch('ZADD', LEASES)
local runs = batch('HSET', RUNNING)
local rows = {}
local token

-- `record` without its token; `value` is the payload.
local function grant(id, record, topic, value, endsAt)
  local dueAt, attempt = unpackNumber('>I6I4', record)
  add(leases, endsAt, id)
  add(runs, id, record .. token)
  local size = #rows
  rows[size + 1] = id
  rows[size + 2] = topic
  rows[size + 3] = dueAt
  rows[size + 4] = attempt
  rows[size + 5] = sub(value, 13)
end

-- Rounded up to a whole microsecond: a claimer that comes back on the dot must not find it a moment too early.
local function waiting(ms)
  return string.format('%.3f', math.ceil(ms * 1000) / 1000)
end

local function claimed(nextTime, orphans)
  return { string.format('%.3f', now), nextTime, token or '', orphans, rows }
end
