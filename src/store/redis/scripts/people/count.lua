-- count: how many messages are in which state, and when the earliest is due.
-- uses: base control lines extras remembered successors
--
-- KEYS      those of `base`
-- ARGV      now, channel
-- reply     delayed, ready, running, dead, the earliest dueAt ('' if nothing waits), 1 if exact, else 0
-- cost      O(1) for each topic that runs now, O(log n) for each line that has something due, at most LINES_MAX of them:
--           further lines are taken to be as long as these, and the answer says that it is not exact

local LINES_MAX = 500

local running, ready = 0, 0
for _, count in ipairs(call('HVALS', RUNNING)) do
  running = running + math.max(0, tonumber(count) or 0)
end
local ourWaiting, ourRunning, ourDead = countControl()
local dead = call('ZCARD', DEAD)
local nowText = string.format('%.3f', now)
local due = call('ZRANGEBYSCORE', HEADS, '-inf', nowText, 'LIMIT', 0, LINES_MAX)
for _, line in ipairs(due) do
  ready = ready + (isControlLine(line) and 0 or call('ZCOUNT', line, '-inf', nowText))
end
-- Every message has one payload and is in one place: what neither runs nor is dead nor remembered waits.
local messages = call('HLEN', PAYLOAD) - call('ZCARD', REMEMBERED)
local waiting = math.max(ready, messages - running - dead - ourWaiting)
local isExact = #due < LINES_MAX
if not isExact then
  ready = math.min(waiting, math.floor(ready * call('ZCOUNT', HEADS, '-inf', nowText) / #due))
end
local first = ''
local heads = call('ZRANGE', HEADS, 0, CONTROL_LINES, 'WITHSCORES')
for index = #heads - 1, 1, -2 do
  first = isControlLine(heads[index]) and first or heads[index + 1]
end
-- What waits for a message that runs is delayed.
return { waiting - ready + call('HLEN', SUCCESSORS), ready, running - ourRunning, dead - ourDead, first, isExact and 1 or 0 }
