-- failures: what is known of a message that failed before. Most never do, so that the hash mostly does not exist.

local hasFailures = call('EXISTS', FAILURES) == 1

local function failure(attempts, dueAt, reason, message)
  return pack('>I4I6I4', attempts, dueAt, #reason) .. reason .. message
end

local function forget(id)
  if hasFailures then
    call('HDEL', FAILURES, id)
  end
end
