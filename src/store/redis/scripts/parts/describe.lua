-- describe: messages as `inspect` shows them, rows of ten:
-- id, payload, state, dueAt, firstDueAt, attempt, lapses, error, reason, until; of each its owner and when it was handed out,
-- if it runs, its extras and its successor. `shown` is all of it, as a reply has it.

local ROW = 10
local found, owners, handedOut, extrasFound, successorsFound = {}, {}, {}, {}, {}
local shown = { found, owners, handedOut, extrasFound, successorsFound }

local function addRow(id, value, state, dueAt, firstDueAt, attempt, lapses, message, reason, untilAt)
  local size = #found
  found[size + 1], found[size + 2], found[size + 3] = id, value, state
  found[size + 4], found[size + 5], found[size + 6] = dueAt, firstDueAt == '0' and dueAt or firstDueAt, attempt
  found[size + 7], found[size + 8], found[size + 9], found[size + 10] = lapses, message, reason, untilAt
  owners[#owners + 1], handedOut[#handedOut + 1] = '', '0'
  extrasFound[#extrasFound + 1] = extrasOf(id)
  successorsFound[#successorsFound + 1] = successorOf(id) or ''
end

local function showWaiting(id, value, due)
  local attempts, lapses, firstDueAt, _, _, message = failureOf(id)
  local state = tonumber(due) > now and 'delayed' or 'ready'
  addRow(id, value, state, due, text(firstDueAt), attempts, lapses, message, '', '0')
end

local function showDead(id, value, diedAt)
  local attempts, lapses, firstDueAt, dueAt, reason, message = failureOf(id)
  addRow(id, value, 'dead', text(dueAt), text(firstDueAt), attempts, lapses, message, reason, diedAt)
end

local recordOf = {}
-- `entry`: its place in the claim.
local function showRunning(id, value, claim, entry, endsAt)
  local attempts, lapses, firstDueAt, _, _, message = failureOf(id)
  local due, _, _, ownEnd = readEntry(entry)
  addRow(id, value, 'running', due, text(firstDueAt), attempts + 1, lapses, message, '', ownEnd == '' and endsAt or ownEnd)
  if recordOf[claim] == nil then
    local record = redis.pcall('HGET', claim, '')
    recordOf[claim] = type(record) == 'string' and record or false
  end
  owners[#owners], handedOut[#handedOut] = ownerOf(claim), madeAt(recordOf[claim])
end
