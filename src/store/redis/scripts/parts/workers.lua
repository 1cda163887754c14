-- workers: who claims. Written only when a claim brings facts, and when its owner leaves.
--
--   workers  owner -> when it was seen last       facts  owner -> first seen, gone (0: not), facts

local GONE_KEPT_MS, UNSEEN_KEPT_MS = 3600000, 86400000
local WORKERS_MAX = 1000
-- So many of the old ones are dropped with each new sight.
local DROPPED_MAX = 10

local function readFacts(entry)
  local first, gone, facts = string.match(entry or '', '^(%d+) (%d+) (.*)$')
  return tonumber(first) or math.floor(now), tonumber(gone) or 0, facts or ''
end

local function drop(owners)
  for _, owner in ipairs(owners) do
    call('ZREM', WORKERS, owner)
    call('HDEL', FACTS, owner)
  end
end

local function seen(owner, facts)
  local first = readFacts(call('HGET', FACTS, owner))
  call('ZADD', WORKERS, text(math.floor(now)), owner)
  call('HSET', FACTS, owner, text(first) .. ' 0 ' .. facts)
  drop(call('ZRANGEBYSCORE', WORKERS, '-inf', text(now - UNSEEN_KEPT_MS), 'LIMIT', 0, DROPPED_MAX))
  local surplus = math.min(call('ZCARD', WORKERS) - WORKERS_MAX, DROPPED_MAX)
  if surplus > 0 then
    drop(call('ZRANGE', WORKERS, 0, surplus - 1))
  end
end
