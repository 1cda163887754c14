-- claim_lapsed: takes over leases that ended without an answer, the oldest first, whatever their topic.
-- uses: base topics grants
--
-- KEYS      the twelve of `base`
-- ARGV      now, channel, limit, lease in ms, nonce
-- reply     now, when to ask again ('NO_TASK', 'EXPIRED' or ms), token, messages lost without a body,
--           names of topics, rows of two: 'place of the name (from 0) dueAt attempt id', tail
-- upholds   P3 the old token is powerless from here on      P6 the attempt was counted when it began
-- cost      O(log n) for each handed out; at most READ_BYTES_MAX of bodies

local limit, leaseMs, nonce = tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]

local ids = call('ZRANGEBYSCORE', LEASES, '-inf', now, 'LIMIT', 0, limit)
local values = {}
local read = readBodies(ids, 1, #ids, values, { bytes = READ_BYTES_MAX })
local orphans = {}
local names, placeOf = {}, {}

local function placeOfTopic(topic)
  if not placeOf[topic] then
    placeOf[topic] = tostring(#names)
    names[#names + 1] = topicName(topic)
  end
  return placeOf[topic]
end

if read > 0 then
  local records = call('HMGET', RUNNING, unpack(ids, 1, read))
  for index = 1, read do
    if not records[index] or not values[index] then
      orphans[#orphans + 1] = ids[index]
    end
  end
  if #orphans > 0 then
    call('ZREM', LEASES, unpack(orphans))
    call('HDEL', RUNNING, unpack(orphans))
  end
  beginGrants(nonce, leaseMs)
  for index = 1, read do
    local record, value = records[index], values[index]
    if record and value then
      local dueAt, attempt = unpackNumber('>I6I4', record)
      local head = placeOfTopic(sub(record, 17, 22)) .. ' ' .. text(dueAt) .. ' ' .. attempt .. ' '
      grant(ids[index], sub(record, 1, 23) .. token, head, value)
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
