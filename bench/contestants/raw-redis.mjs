// The floors: the least work in Redis that could do the job, as fast as we can write it, on a bare socket. A sorted set and a
// hash; calls of one turn of the event loop are one script, the 50th of a turn is sent at once so that client and server
// work side by side; batches of 500; one promise for all that went out together; a timer, and a publish when a new head arrives.
// No topics, priorities, fencing, retries, counts, duplicates or order among equals: what punctual adds is what the
// difference costs.
//   raw-redis         no leases: what a worker that dies was handed is lost
//   raw-redis-lease   one lease for all that a claim hands out, ended message by message
import { openBare } from '../bare-redis.mjs'

const BATCH = 500
const EARLY = 50

const PUT = `
local head = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]
local z, first, n = {}, math.huge, #ARGV
for i = 1, n, 3 do
  local due = ARGV[i + 1]
  z[#z + 1] = due; z[#z + 1] = ARGV[i]
  if tonumber(due) < first then first = tonumber(due) end
end
redis.call('ZADD', KEYS[1], unpack(z))
local h = {}
for i = 1, n, 3 do h[#h + 1] = ARGV[i]; h[#h + 1] = ARGV[i + 2] end
redis.call('HSET', KEYS[2], unpack(h))
if not head or first < tonumber(head) then redis.call('PUBLISH', KEYS[1], '') end
return 1`

const claimScript = (lease) => `
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local ids = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[1])
local bodies = {}
if #ids > 0 then
  bodies = redis.call('HMGET', KEYS[2], unpack(ids))
  ${lease ? "redis.call('SADD', KEYS[4], unpack(ids)) redis.call('ZADD', KEYS[3], now + 30000, KEYS[4])" : ''}
  redis.call('ZREMRANGEBYRANK', KEYS[1], 0, #ids - 1)
end
local head = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]
return { ids, bodies, head and string.format('%.3f', tonumber(head) - now) or '' }`

const ackScript = (lease) => `
redis.call('HDEL', KEYS[2], unpack(ARGV))
${lease ? "redis.call('SREM', KEYS[4], unpack(ARGV)) if redis.call('SCARD', KEYS[4]) == 0 then redis.call('ZREM', KEYS[3], KEYS[4]) end" : ''}
return 1`

async function open(port, queue, heard) {
  const redis = await openBare(port, heard)
  const keys = [`${queue}:due`, `${queue}:body`, `${queue}:claims`]
  const scripts = new Map()
  const shaOf = async (source) =>
    scripts.get(source) ?? scripts.set(source, await redis.call('SCRIPT', 'LOAD', source)).get(source)
  return { redis, keys, shaOf }
}

/** 16 characters, made as cheaply as can be. */
let ids = 0
const beginning = Math.floor(Math.random() * 36 ** 8)
  .toString(36)
  .padStart(8, '0')
const makeId = () => beginning + (ids++).toString(36).padStart(8, '0')

function push(batch, message) {
  batch.command.push(makeId(), String(message.dueAt || Date.now()), JSON.stringify(message))
  batch.count += 1
}

async function openProducer({ port, queue }) {
  const { redis, keys, shaOf } = await open(port, queue)
  const head = ['EVALSHA', await shaOf(PUT), '2', keys[0], keys[1]]
  const begin = () => {
    let resolve
    const done = new Promise((settle) => (resolve = settle))
    return { command: head.slice(), count: 0, done, resolve }
  }
  const flush = (batch) => redis.send(batch.command, batch.resolve)
  let turn
  /** All of one batch share a promise. */
  const one = (message) => {
    if (turn === undefined) {
      const mine = (turn = begin())
      process.nextTick(() => {
        if (turn !== mine) return
        turn = undefined
        flush(mine)
      })
    }
    const batch = turn
    push(batch, message)
    if (batch.count === EARLY) {
      turn = undefined
      flush(batch)
    }
    return batch.done
  }
  const many = (messages) => {
    const sent = []
    for (let at = 0; at < messages.length; at += BATCH) {
      const batch = begin()
      for (const message of messages.slice(at, at + BATCH)) push(batch, message)
      flush(batch)
      sent.push(batch.done)
    }
    return Promise.all(sent)
  }
  return { bulk: 1_000, one, many, close: () => redis.close() }
}

async function openWorker({ port, queue }, handle, lease) {
  const { redis, keys, shaOf } = await open(port, queue)
  const subscriber = await openBare(port, () => read())
  const [claim, ack] = [await shaOf(claimScript(lease)), await shaOf(ackScript(lease))]
  const state = { isOpen: true, isReading: false, isWoken: false }
  let claims = 0
  let timer
  const ask = () => {
    claims += 1
    const key = `${queue}:claim:${beginning}-${claims}`
    redis.send(['EVALSHA', claim, '4', ...keys, key, String(BATCH)], (reply) => void take(reply, key))
  }
  const read = () => {
    if (state.isReading) {
      state.isWoken = true
      return
    }
    clearTimeout(timer)
    state.isReading = true
    state.isWoken = false
    ask()
  }
  const take = async ([taken, bodies, next], key) => {
    if (!state.isOpen) return
    const waitMs = next === '' ? 60_000 : Number(next)
    if (taken.length > 0) await Promise.all(bodies.map((body) => handle(JSON.parse(body))))
    const isMore = waitMs <= 0 || state.isWoken
    state.isWoken = false
    // What ended and the next question go out together.
    redis.together(() => {
      if (taken.length > 0) redis.send(['EVALSHA', ack, '4', ...keys, key, ...taken], () => {})
      if (isMore) ask()
    })
    if (isMore) return
    state.isReading = false
    timer = setTimeout(read, Math.min(60_000, Math.ceil(waitMs)))
  }
  await subscriber.call('SUBSCRIBE', keys[0])
  read()
  return {
    close() {
      state.isOpen = false
      clearTimeout(timer)
      redis.close()
      subscriber.close()
    },
  }
}

const floor = (name, lease, note) => ({
  name,
  server: 'redis',
  note,
  openProducer,
  openWorker: (context, handle) => openWorker(context, handle, lease),
})

export const contestants = {
  'raw-redis': floor('raw-redis', false, 'the floor'),
  'raw-redis-lease': floor('raw-redis-lease', true, 'the floor, with a lease per claim'),
}
