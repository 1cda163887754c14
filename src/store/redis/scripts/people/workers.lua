-- workers: who claims, last seen first.
-- uses: base workers
--
-- KEYS      those of `base`
-- ARGV      now, channel
-- reply     now, rows of five: owner, first seen, last seen, gone (0: not), facts
-- cost      O(1) for each, at most WORKERS_MAX

local rows = {}
local page = call('ZREVRANGE', WORKERS, 0, WORKERS_MAX - 1, 'WITHSCORES')
for index = 1, #page, 2 do
  local entry = call('HGET', FACTS, page[index])
  local first, gone, facts = readFacts(entry)
  if entry and (gone == 0 or gone > now - GONE_KEPT_MS) then
    local row = #rows
    rows[row + 1], rows[row + 2], rows[row + 3] = page[index], text(first), page[index + 1]
    rows[row + 4], rows[row + 5] = text(gone), facts
  end
end
return { string.format('%.3f', now), rows }
