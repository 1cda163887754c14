// The floor: the least work in Redis that could do the job, as fast as we can write it. A sorted set, a hash, a lease
// set; calls of one turn of the event loop are one script; a timer and a publish when a new head arrives. No topics,
// priorities, fencing, retries, counts or order among equals: what punctual adds is what the difference costs.
import { randomBytes } from 'node:crypto'
import Redis from 'ioredis'

const PUT = `
local head = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]
local z, h, first = {}, {}, math.huge
for i = 1, #ARGV, 3 do
  z[#z + 1] = ARGV[i + 1]; z[#z + 1] = ARGV[i]
  h[#h + 1] = ARGV[i]; h[#h + 1] = ARGV[i + 2]
  first = math.min(first, tonumber(ARGV[i + 1]))
end
for i = 1, #z, 4000 do
  redis.call('ZADD', KEYS[1], unpack(z, i, math.min(i + 3999, #z)))
  redis.call('HSET', KEYS[2], unpack(h, i, math.min(i + 3999, #h)))
end
if not head or first < tonumber(head) then redis.call('PUBLISH', KEYS[1], '') end
return 1`

const CLAIM = `
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local ids = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[1])
local bodies = {}
if #ids > 0 then
  bodies = redis.call('HMGET', KEYS[2], unpack(ids))
  redis.call('ZREM', KEYS[1], unpack(ids))
  local leases = {}
  for i = 1, #ids do leases[2 * i - 1] = now + 30000; leases[2 * i] = ids[i] end
  redis.call('ZADD', KEYS[3], unpack(leases))
end
local head = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]
return { ids, bodies, head and string.format('%.3f', tonumber(head) - now) or '' }`

const ACK = `
redis.call('HDEL', KEYS[2], unpack(ARGV))
redis.call('ZREM', KEYS[3], unpack(ARGV))
return 1`

function open(port, queue) {
  const redis = new Redis({ host: '127.0.0.1', port })
  redis.defineCommand('rawPut', { numberOfKeys: 3, lua: PUT })
  redis.defineCommand('rawClaim', { numberOfKeys: 3, lua: CLAIM })
  redis.defineCommand('rawAck', { numberOfKeys: 3, lua: ACK })
  return { redis, keys: [`${queue}:due`, `${queue}:body`, `${queue}:lease`] }
}

/** Gathers the calls of one turn of the event loop. */
function coalesce(send) {
  let waiting = []
  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      if (waiting.length > 1) return
      process.nextTick(() => {
        const calls = waiting
        waiting = []
        send(calls.map((call) => call.item)).then(
          () => calls.forEach((call) => call.resolve()),
          (error) => calls.forEach((call) => call.reject(error)),
        )
      })
    })
}

const makeId = () => randomBytes(12).toString('base64url')

export const contestants = {
  'raw-redis': {
    name: 'raw-redis',
    server: 'redis',
    note: 'the floor',
    async openProducer({ port, queue }) {
      const { redis, keys } = open(port, queue)
      const put = (messages) =>
        redis.rawPut(
          ...keys,
          ...messages.flatMap((message) => [makeId(), message.dueAt || Date.now(), JSON.stringify(message)]),
        )
      return { bulk: 1_000, one: coalesce(put), many: put, close: () => redis.quit() }
    },
    async openWorker({ port, queue, concurrency }, handle) {
      const { redis, keys } = open(port, queue)
      const subscriber = redis.duplicate()
      const state = { isOpen: true }
      let isReading = false
      let isWoken = false
      let timer
      const ack = coalesce((ids) => redis.rawAck(...keys, ...ids))
      const read = async () => {
        if (isReading) {
          isWoken = true
          return
        }
        isReading = true
        clearTimeout(timer)
        let waitMs
        do {
          isWoken = false
          const [ids, bodies, next] = await redis.rawClaim(...keys, concurrency * 5)
          for (const [i, id] of ids.entries()) void handle(JSON.parse(bodies[i])).then(() => ack(id))
          waitMs = next === '' ? 60_000 : Number(next)
        } while (state.isOpen && (isWoken || waitMs <= 0))
        isReading = false
        if (state.isOpen) timer = setTimeout(() => void read(), Math.min(60_000, Math.ceil(waitMs)))
      }
      await subscriber.subscribe(keys[0])
      subscriber.on('message', () => void read())
      await read()
      return {
        close() {
          state.isOpen = false
          clearTimeout(timer)
          redis.disconnect()
          subscriber.disconnect()
        },
      }
    },
  },
}
