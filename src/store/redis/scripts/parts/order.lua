-- order: members of a line that sort as they were produced, whatever the ids.
--
-- A line breaks ties of dueAt by the bytes of its members. Generated ids sort by time, so that an id behind the greatest
-- member so far is its own member: nothing is made, nothing is stored twice. Every other id gets a stamp: nine digits
-- behind the greatest so far, and a mark that no generated id has in that place. The payload then begins with the mark and the
-- stamp, so that the member of an id can be found.
--
--   generated id   PhZ3k9aB2cXyz012         member PhZ3k9aB2cXyz012
--   any other      order-42                 member PhZ3k9aB3~order-42, payload ~PhZ3k9aB3...
--
-- An id far ahead of this server's clock gets a stamp as well: as the greatest it would put a stamp before all others.

local AHEAD_MS, ASTRAY_MS = 60000, 86400000

local DIGITS = '-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz'
local BASE, UPPER_COUNT = 64, 8

local function digitOf(letter)
  if letter >= 97 then
    return letter - 59
  elseif letter == 95 then
    return 37
  elseif letter >= 65 then
    return letter - 54
  end
  return letter >= 48 and letter - 47 or 0
end

-- The first eight digits as a number: the millisecond, and one digit more.
local function upperOf(member)
  local value = 0
  for place = 1, UPPER_COUNT do
    value = value * BASE + digitOf(byte(member, place) or 0)
  end
  return value
end

local function upperText(value)
  local digits = ''
  for _ = 1, UPPER_COUNT do
    local digit = value % BASE
    digits = sub(DIGITS, digit + 1, digit + 1) .. digits
    value = (value - digit) / BASE
  end
  return digits
end

-- The greatest member so far, cut to what orders it; nothing where it was lost or is no work of ours. A script reads it
-- before it uses what follows.
local greatest, upper
local function readGreatest()
  greatest = call('GET', ORDER)
  upper = greatest and string.find(greatest, '^[-%w_]+$') and #greatest >= STAMP_LENGTH and upperOf(greatest)
  if not upper or upper / BASE > now + ASTRAY_MS then
    greatest, upper = nil, nil
  end
end

-- Whether a generated id, and those that follow it in the same batch, can be their own members.
local function sortsBehind(first, last)
  local itsUpper = upperOf(first)
  if upperOf(last) / BASE > now + AHEAD_MS then
    return false
  end
  if not upper or itsUpper > upper then
    return true
  end
  if itsUpper < upper then
    return false
  end
  -- A stamp ends in the mark, which sorts behind every digit.
  return isBefore(#greatest == STAMP_LENGTH and greatest .. MARK or greatest, first)
end

-- Stamps for so many messages, of which some may stay unused. As the first write of a script, a full server refuses it:
-- what that means is up to `write`.
local stampUpper, stampUpperText, stampDigit
local function reserveStamps(count, write)
  if upper then
    stampUpper, stampDigit = upper, digitOf(byte(greatest, STAMP_LENGTH))
  else
    stampUpper, stampDigit = math.floor(now) * BASE, 0
  end
  stampUpperText = upperText(stampUpper)
  local last = stampDigit + count
  local lastDigit = last % BASE
  return write('SET', ORDER, upperText(stampUpper + (last - lastDigit) / BASE) .. sub(DIGITS, lastDigit + 1, lastDigit + 1))
end

-- The next stamp, in two parts: put together with what follows, they cost one string less.
local function nextStamp()
  stampDigit = stampDigit + 1
  if stampDigit == BASE then
    stampUpper, stampDigit = stampUpper + 1, 0
    stampUpperText = upperText(stampUpper)
  end
  return stampUpperText, sub(DIGITS, stampDigit + 1, stampDigit + 1)
end
