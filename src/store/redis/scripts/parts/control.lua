-- control: topics of our own, as `core/control` names them. No count, list or forecast shows them unless it names them.

local CONTROL_TOPICS = { '\1schedules', '\1moves' }
local CONTROL_BYTE = 1

local function isControlLine(line)
  return byte(line, #LINE_PREFIX + 1) == CONTROL_BYTE
end

-- How many of their messages wait, run and are dead.
local function countControl()
  local waiting, running, dead = 0, 0, 0
  for _, topic in ipairs(CONTROL_TOPICS) do
    for priority = 0, 2 do
      waiting = waiting + call('ZCARD', lineOf(topic, priority))
    end
    running = running + math.max(0, tonumber(call('HGET', RUNNING, topic) or 0) or 0)
    dead = dead + math.max(0, tonumber(call('HGET', DIED, topic) or 0) or 0)
  end
  return waiting, running, dead
end

-- Every line of a user sorts behind this.
local AFTER_CONTROL = LINE_PREFIX .. '\2'
-- No more lines than these are our own.
local CONTROL_LINES = 3 * #CONTROL_TOPICS
