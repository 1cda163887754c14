-- controls: what is kept of pauses and limits. Most queues have none, so that the hash mostly does not exist; the functions are
-- made only where it does, since making them costs as much as a command.
--
--   controls   topic -> nine numbers: paused until (F: until a resume), interval, burst, filled until, concurrency,
--                       and of a temporary rate: interval, burst, filled until, end. 0 where there is none. Where its keys
--                       have limits, ' k ' and four numbers: interval, burst and concurrency of each key; 1 if some keys have
--                       limits of their own
--
-- A key that is named twice counts twice: one call tells whether there are controls, and whether there are keys.
local known = call('EXISTS', CONTROLS, PREFIX .. 'keyed', PREFIX .. 'keyed')
local hasControls, hasKeyed = known % 2 == 1, known > 1

local PAUSED, RATE, CONCURRENCY, OVER, OVER_ENDS = 1, 2, 5, 6, 9
local KEY_RATE, KEY_CONCURRENCY, OWN_LIMITS = 10, 12, 13

local function controlTools()
  local rates, tools = rateTools(), {}

  local WORDS = '^(%S+)' .. string.rep(' ?(%S*)', 8)

  local function number(word)
    local value = word == 'F' and MOMENT_MAX or tonumber(word)
    return value and value == value and value or 0
  end

  function tools.read(record)
    local a, b, c, d, e, f, g, h, i = string.match(record, WORDS)
    local j, k, l, m = string.match(record, ' k (%S+) (%S+) (%S+) (%S+)$')
    local control = { number(a), number(b), number(c), number(d), number(e), number(f), number(g), number(h), number(i) }
    control[10], control[11], control[12], control[13] = number(j), number(k), number(l), number(m)
    return control
  end

  -- What a key of the topic is allowed may differ from what it likes.
  function tools.limitsKeys(control)
    return control[KEY_RATE] > 0 or control[KEY_CONCURRENCY] > 0 or control[OWN_LIMITS] > 0
  end

  function tools.write(topic, control)
    local pausedUntil = control[PAUSED] == MOMENT_MAX and 'F' or text(control[PAUSED])
    local numbers = string.format(' %.17g %.0f %.3f %.0f %.17g %.0f %.3f %.0f', unpack(control, 2, 9))
    local ofKeys = tools.limitsKeys(control) and string.format(' k %.17g %.0f %.17g %.0f', unpack(control, 10, 13)) or ''
    call('HSET', CONTROLS, topic, pausedUntil .. numbers .. ofKeys)
  end

  -- Nothing is left of it.
  function tools.isOver(control)
    local isLimited = control[RATE] > 0 or control[CONCURRENCY] > 0 or tools.limitsKeys(control)
    return control[PAUSED] <= now and not isLimited and control[OVER_ENDS] <= now
  end

  -- When the next one may start under a rate.
  function tools.nextStart(control, rate)
    return rates.nextStart(unpack(control, rate, rate + 2))
  end

  function tools.charge(control, rate, count)
    control[rate + 2] = rates.filledUntil(unpack(control, rate, rate + 2)) + count * control[rate]
  end

  return tools
end
