-- rates: a rate lets one start in each interval, and a burst at once. What is kept of it is one moment, by which everything that
-- started would have been spaced evenly: it moves on by an interval with each start, and may lie ahead of now by the burst
-- and half an interval, so that starts which come a little late are made up for (`core/controls.ts` says it at length; the
-- two must agree). Much more than that is not believed, and counts as nothing: the clock was set back, or the limit changed.

local function rateTools()
  local LEEWAY, DISBELIEF_MS = 0.5, 1000
  local rates = {}

  function rates.filledUntil(interval, burst, filled)
    local most = now + interval * (burst + LEEWAY)
    return filled > most + DISBELIEF_MS and now or math.max(now, math.min(filled, most))
  end

  -- When the next one may start.
  function rates.nextStart(interval, burst, filled)
    return rates.filledUntil(interval, burst, filled) - (burst - 1 + LEEWAY) * interval
  end

  return rates
end
