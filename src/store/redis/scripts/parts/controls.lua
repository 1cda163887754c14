-- controls: what is kept of pauses and limits. Most queues have none, so that the hash mostly does not exist; the functions are
-- made only where it does, since making them costs as much as a command.
--
--   controls   topic -> nine numbers: paused until (F: until a resume), interval, burst, filled until, concurrency,
--                       and of a temporary rate: interval, burst, filled until, end. 0 where there is none
--
-- A rate lets one start in each interval, and a burst at once; `filled until` moves on by an interval with each start. It
-- may lie ahead of now by the burst and half an interval, so that starts which come a little late are made up for
-- (`core/controls.ts` says it at length; the two must agree). Much more than that is not believed, and counts as nothing: the
-- clock was set back, or the limit changed.

local hasControls = call('EXISTS', CONTROLS) == 1

local PAUSED, RATE, CONCURRENCY, OVER, OVER_ENDS = 1, 2, 5, 6, 9

local function controlTools()
  local LEEWAY, DISBELIEF_MS = 0.5, 1000
  local tools = {}

  local WORDS = '^(%S+)' .. string.rep(' ?(%S*)', 8)

  local function number(word)
    local value = word == 'F' and MOMENT_MAX or tonumber(word)
    return value and value == value and value or 0
  end

  function tools.read(record)
    local a, b, c, d, e, f, g, h, i = string.match(record, WORDS)
    return { number(a), number(b), number(c), number(d), number(e), number(f), number(g), number(h), number(i) }
  end

  function tools.write(topic, control)
    local pausedUntil = control[PAUSED] == MOMENT_MAX and 'F' or text(control[PAUSED])
    local numbers = string.format(' %.17g %.0f %.3f %.0f %.17g %.0f %.3f %.0f', unpack(control, 2, 9))
    call('HSET', CONTROLS, topic, pausedUntil .. numbers)
  end

  -- Nothing is left of it.
  function tools.isOver(control)
    return control[PAUSED] <= now and control[RATE] <= 0 and control[CONCURRENCY] <= 0 and control[OVER_ENDS] <= now
  end

  local function filledUntil(control, rate)
    local most = now + control[rate] * (control[rate + 1] + LEEWAY)
    local filled = control[rate + 2]
    return filled > most + DISBELIEF_MS and now or math.max(now, math.min(filled, most))
  end

  -- When the next one may start under a rate.
  function tools.nextStart(control, rate)
    return filledUntil(control, rate) - (control[rate + 1] - 1 + LEEWAY) * control[rate]
  end

  function tools.charge(control, rate, count)
    control[rate + 2] = filledUntil(control, rate) + count * control[rate]
  end

  return tools
end
