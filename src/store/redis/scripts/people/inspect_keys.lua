-- inspect_keys: how keys of a topic stand: those that are named, or page by page in the order of their names.
-- uses: base lines rates keyed
--
-- KEYS      those of `base`
-- ARGV      now, channel, topic, 'named', then the keys; or 'page', the key after which to go on ('' at first), how many
-- reply     now; the key after which to go on ('' at the end); rows of eight: key, how many wait, how many run, when its turn is, from
--           when its rate allows another start, the retry that holds it and its moment, its own limit ('' where there is none)
-- cost      O(log n) for each key; O(1) for each limit of its own, at most 1,000

local topic, tools = ARGV[3], keyed()
local names, cursor = {}, ''

-- Those that have something, and those that only have a limit, both in the order of their bytes.
local function page(after, size)
  local found = tools.ask('ZRANGEBYLEX', tools.named('keys', topic), after == '' and '-' or '(' .. after, '+', 'LIMIT', 0, size + 1)
  local isThere = {}
  for _, name in ipairs(found) do
    isThere[name] = true
  end
  for _, name in ipairs(tools.ask('HKEYS', tools.named('limits', topic))) do
    if not isThere[name] and isBefore(after, name) then
      found[#found + 1] = name
    end
  end
  table.sort(found, isBefore)
  for index = 1, math.min(size, #found) do
    names[index] = found[index]
  end
  cursor = #found > size and names[size] or ''
end

if ARGV[4] == 'named' then
  for index = 5, #ARGV do
    names[index - 4] = ARGV[index]
  end
else
  page(ARGV[5], tonumber(ARGV[6]))
end

local function idOf(member)
  return byte(member, ID_AT - 1) == MARK_BYTE and sub(member, ID_AT) or member
end

local rows = {}
if #names > 0 then
  local limits = tools.ask('HMGET', tools.named('limits', topic), unpack(names))
  local states, terms = tools.counts(topic, names), tools.terms(topic, names)
  for index, key in ipairs(names) do
    local state, its, waiting, turn = states[index], terms[index], 0, nil
    local opensAt, holder = tools.opensAt(state, its), tools.holder(topic, key, state, its)
    for _, rank in ipairs(tools.RANKS) do
      local line = tools.ownLine(topic, key, rank)
      local first = tools.ask('ZRANGE', line, 0, 0, 'WITHSCORES')[2]
      local due = holder and (holder.rank == rank and holder.due) or (not holder and first)
      if first then
        waiting = waiting + call('ZCARD', line)
      end
      if first and due then
        local before = tonumber(call('ZSCORE', tools.named('turns', topic .. ':' .. rank), key) or 0)
        turn = math.min(turn or math.huge, math.max(tonumber(due), before, opensAt))
      end
    end
    local isFull = tools.isFull(state, its)
    local at = #rows
    rows[at + 1], rows[at + 2], rows[at + 3] = key, waiting, state.running
    rows[at + 4] = turn and not isFull and string.format('%.3f', turn) or ''
    rows[at + 5] = opensAt > now and text(opensAt) or ''
    rows[at + 6], rows[at + 7] = holder and idOf(holder.member) or '', holder and holder.due or '0'
    rows[at + 8] = limits[index] or ''
  end
end
return { string.format('%.3f', now), cursor, rows }
