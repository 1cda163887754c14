-- describe: a message as `inspect` shows it, a row of nine:
-- id, topic, state, dueAt, attempt, error, reason, until, tail.

local found = {}

local function addRow(id, value, state, dueAt, attempt, message, reason, untilAt)
  local size = #found
  found[size + 1] = id
  found[size + 2] = topicName(sub(value, TOPIC_AT, TOPIC_END))
  found[size + 3] = state
  found[size + 4] = dueAt
  found[size + 5] = attempt
  found[size + 6] = message
  found[size + 7] = reason
  found[size + 8] = untilAt
  found[size + 9] = sub(value, TAIL_AT)
end

local function describe(id, value)
  local attempts, diedDueAt, reason, message = 0, 0, '', ''
  local failure = call('HGET', FAILURES, id)
  if failure then
    local reasonSize
    attempts, diedDueAt, reasonSize = unpackNumber('>I4I6I4', failure)
    reason, message = sub(failure, 15, 14 + reasonSize), sub(failure, 15 + reasonSize)
  end
  local score = call('ZSCORE', DELAYS[sub(value, TAIL_AT, TAIL_AT)], sub(value, 1, TOPIC_AT - 1) .. id)
  if score then
    local dueAt = tonumber(score)
    if dueAt < 0 then
      dueAt = dueAt + ASIDE
    end
    addRow(id, value, dueAt > now and 'delayed' or 'ready', dueAt, attempts, message, '', 0)
    return
  end
  local record = call('HGET', RUNNING, id)
  if record then
    local dueAt, attempt = unpackNumber('>I6I4', record)
    addRow(id, value, 'running', dueAt, attempt, message, '', tonumber(call('ZSCORE', LEASES, id)) or 0)
    return
  end
  addRow(id, value, 'dead', diedDueAt, attempts, message, reason, tonumber(call('ZSCORE', DEAD, id)) or 0)
end
