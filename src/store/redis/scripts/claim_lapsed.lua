-- claim_lapsed: takes over leases that ended without an answer, the oldest first, whatever their topic.
-- uses: base topics grants
--
-- KEYS      the twelve of `base`
-- ARGV      now, channel, limit, lease in ms, nonce
-- reply     now, when to ask again ('NO_TASK', 'EXPIRED' or ms), token, messages lost without a body,
--           names of topics, groups (with the place of the name, from 0), ids, payloads: see `grants`
-- upholds   P3 the old token is powerless from here on      P6 the attempt was counted when it began
-- cost      O(log n) for each handed out; at most READ_BYTES_MAX of bodies

local limit, leaseMs, nonce = tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]

local lapsed = call('ZRANGEBYSCORE', LEASES, '-inf', now, 'LIMIT', 0, limit)
local bodies = {}
local read = readBodies(lapsed, 1, #lapsed, bodies, { bytes = READ_BYTES_MAX })
local orphans = {}
local names, known = {}, {}

local function knownTopic(topic)
  if not known[topic] then
    known[topic] = { topic = topic, place = #names }
    names[#names + 1] = topicName(topic)
  end
  return known[topic]
end

if read > 0 then
  local records = call('HMGET', RUNNING, unpack(lapsed, 1, read))
  for index = 1, read do
    if not records[index] or not bodies[index] then
      orphans[#orphans + 1] = lapsed[index]
    end
  end
  if #orphans > 0 then
    call('ZREM', LEASES, unpack(orphans))
    call('HDEL', RUNNING, unpack(orphans))
  end
  beginGrants(nonce, leaseMs)
  for index = 1, read do
    local old, value = records[index], bodies[index]
    if old and value then
      local dueAt, attempt = unpackNumber('>I6I4', old)
      grant(knownTopic(sub(old, RECORD_TOPIC_AT, RECORD_TOPIC_END)), text(dueAt), attempt, lapsed[index], value)
    end
  end
  writeGrants()
end

local first = call('ZRANGE', LEASES, 0, 0, 'WITHSCORES')
if not first[2] then
  return claimed('NO_TASK', #orphans, names)
end
local restMs = tonumber(first[2]) - now
return claimed(restMs <= 0 and 'EXPIRED' or waiting(restMs), #orphans, names)
