-- put: accepts messages, in order.
-- uses: base claims order lines waking rates keyed failures extras remembered successors placing
--
-- KEYS      those of `base`, then the lines
-- ARGV      now, channel, how many messages at the beginning have generated ids in ascending order,
--           'new' if all may only be stored anew and no id is there twice, else 'each', how many runs, how many have tags;
--           for each run of messages that have them in common: place of the line in KEYS, ifExists as `placing` says, delay
--           in ms or '@' and a moment, how many; then two for each message: id, payload;
--           then two for each that has tags: its place, and each tag behind a line feed
-- reply     now; then for each that was not simply stored: its place (from 1), and 'duplicate', 'replaced' or 'succeeds'
-- upholds   P2 stored whole or not at all: the first write is one that a full server refuses
--           P5 an id is taken until its message is gone      P7 produce order: see `order`
-- cost      O(log n) for each message, no body is read unless it is replaced; two publishes for each topic, at most 41

local plain, mode, runCount, tagged = tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6])
local firstPair = 7 + runCount * 4
local messageCount = (#ARGV - firstPair + 1) / 2 - tagged
local tagsAt = {}
for index = #ARGV - 2 * tagged + 1, #ARGV, 2 do
  tagsAt[tonumber(ARGV[index])] = ARGV[index + 1]
end
local exceptions = { string.format('%.3f', now) }

local function except(place, word)
  exceptions[#exceptions + 1] = place
  exceptions[#exceptions + 1] = word
end

-- What is there would have to be read to be told from what is not, if many are asked for at once. So the first is asked
-- for alone, then more and more: a batch that is put again is noticed at its beginning.
local function isAnyTaken()
  local first, size = 1, 1
  while first <= messageCount do
    local last = math.min(first + size - 1, messageCount)
    local ids = {}
    for place = first, last do
      ids[place - first + 1] = ARGV[firstPair + 2 * place - 2]
    end
    local found = size == 1 and { call('HEXISTS', PAYLOAD, ids[1]) == 1 } or call('HMGET', PAYLOAD, unpack(ids))
    for index = 1, #ids do
      if found[index] then
        return true
      end
    end
    first, size = last + 1, math.min(size * 4, READ_CHUNK)
  end
  return false
end

-- Calls visit(line, ifExists, dueAt, place of the first, of the last) for each run.
local function eachRun(visit)
  local place = 1
  for run = 7, firstPair - 1, 4 do
    local count = tonumber(ARGV[run + 3])
    visit(KEYS[tonumber(ARGV[run])], ARGV[run + 1], dueOf(ARGV[run + 2]), place, place + count - 1)
    place = place + count
  end
end

local function putNew()
  local isPlain = plain > 0 and sortsBehind(ARGV[firstPair], ARGV[firstPair + 2 * plain - 2])
  if not isPlain then
    plain = 0
  end
  local unstamped = firstPair + 2 * plain - 1
  if plain < messageCount then
    if isPlain then
      greatest = ARGV[unstamped - 1]
      upper = upperOf(greatest)
    end
    reserveStamps(messageCount - plain, call)
  else
    call('SET', ORDER, ARGV[unstamped - 1])
  end
  local members, payloads, size = {}, {}, 0
  local earliest, lines = {}, {}
  eachRun(function(line, _, dueAt, first, last)
    local into = members[line]
    if not into then
      into = {}
      members[line], earliest[line] = into, dueAt
      lines[#lines + 1] = line
    end
    earliest[line] = math.min(earliest[line], dueAt)
    local due, filled = text(dueAt), #into
    for place = first, math.min(last, plain) do
      into[filled + 1], into[filled + 2] = due, ARGV[firstPair + 2 * place - 2]
      filled = filled + 2
    end
    for place = math.max(first, plain + 1), last do
      local pair = firstPair + 2 * place - 2
      local id, digits, lastDigit = ARGV[pair], nextStamp()
      into[filled + 1], into[filled + 2] = due, digits .. lastDigit .. MARK .. id
      payloads[size + 1], payloads[size + 2] = id, MARK .. digits .. lastDigit .. ARGV[pair + 1]
      filled, size = filled + 2, size + 2
    end
  end)
  local added = {}
  for _, line in ipairs(lines) do
    call('ZADD', line, unpack(members[line]))
    if keyAt(line) then
      keyed().enter(line, members[line], earliest[line], added)
    end
  end
  for line, its in pairs(added) do
    call('ZADD', line, unpack(its))
  end
  if plain > 0 then
    call('HSET', PAYLOAD, unpack(ARGV, firstPair, unstamped))
  end
  if size > 0 then
    call('HSET', PAYLOAD, unpack(payloads))
  end
  for place, tags in pairs(tagsAt) do
    setTags(ARGV[firstPair + 2 * place - 2], tags)
  end
  for _, line in ipairs(lines) do
    entered(line, earliest[line])
  end
end

-- One by one: an id may be there already, or twice in this batch. A full server must refuse the first that would be
-- stored, and nothing before it is written.
local isReserved = false
local function putOne(line, ifExists, dueAt, place)
  local id = ARGV[firstPair + 2 * place - 2]
  if not isReserved and not (ifExists == 'keep' and isTakenStill(id)) then
    reserveStamps(messageCount, call)
    isReserved = true
  end
  local word = placeOne(line, ifExists, dueAt, id, ARGV[firstPair + 2 * place - 1], tagsAt[place] or '')
  if word then
    except(place, word)
  end
end

readGreatest()
if mode == 'new' and not isAnyTaken() then
  putNew()
else
  eachRun(function(line, ifExists, dueAt, first, last)
    for place = first, last do
      putOne(line, ifExists, dueAt, place)
    end
  end)
end
writeRunning()
finishKeyed()
wake('', '')
return exceptions
