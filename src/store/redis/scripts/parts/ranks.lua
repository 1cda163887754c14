-- ranks: where a walk over a sorted set goes on, also if the member that it ended with has left since.

-- The rank of the first member after (score, member), by halving the ranks that share the score.
local function rankAfter(key, score, member)
  local low, high = call('ZCOUNT', key, '-inf', '(' .. score), call('ZCOUNT', key, '-inf', score)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if isBefore(member, call('ZRANGE', key, middle, middle)[1]) then
      high = middle
    else
      low = middle + 1
    end
  end
  return low
end
