#!/usr/bin/env bash
# A worker in bash with curl: lease, work, settle. One message at a time.
#
#   PUNCTUAL_URL=http://localhost:7780/v1/queues/default ./worker.sh mail.send
#
# Killed in the middle, its lease ends and another worker goes on.
set -u

url=${PUNCTUAL_URL:-http://localhost:7780/v1/queues/default}
topic=${1:-mail.send}
name=${WORKER_NAME:-bash-$$}
lease_for=${WORKER_LEASE:-30s}
auth=()
[ -n "${PUNCTUAL_TOKEN:-}" ] && auth=(-H "authorization: Bearer $PUNCTUAL_TOKEN")

call() { # PATH JSON
  curl -sS --max-time 30 "${auth[@]}" -H 'content-type: application/json' -d "$2" "$url$1" 2>/dev/null
}

# A field of the first lease: handles and ids of ours need no unescaping.
field() { # NAME
  grep -o "\"$1\":\"[^\"]*\"" | head -n 1 | cut -d '"' -f 4
}

# Yours: fail with another exit code than 0. It may run more than once.
work() { # ID ANSWER
  sleep "$(grep -o '"seconds":[0-9.]*' <<<"$2" | cut -d : -f 2 || echo 0)"
  echo "{\"done\":\"$1\",\"by\":\"$name\"}"
}

trap 'exit 0' TERM INT
while true; do
  answer=$(call /leases "{\"worker\":\"$name\",\"topics\":[\"$topic\"],\"limit\":1,\"lease\":\"$lease_for\",\"wait\":\"20s\"}") || sleep 0.5
  handle=$(field lease <<<"$answer")
  [ -z "$handle" ] && continue
  id=$(field id <<<"$answer")
  due=$(grep -o '"dueAt":[0-9]*' <<<"$answer" | cut -d : -f 2)
  echo "{\"begun\":\"$id\",\"dueAt\":$due,\"at\":$(date +%s%3N)}"
  if work "$id" "$answer"; then outcome=completed; else outcome=failed; fi
  # Repeated until it is answered, or the lease is over: settling twice changes nothing.
  for _ in $(seq 60); do
    call /leases:settle "{\"settlements\":[{\"lease\":\"$handle\",\"outcome\":\"$outcome\"}]}" | grep -q results && break
    sleep 0.5
  done
done
