// A producer. Each call is written down before it is made, and its answer when it came: promised, refused (surely not
// done), or unknown (done or not: both are legal). What it asks for is drawn from the seed.
//
// The calls about one id are made one after the other, and no other process touches that id.
import { Punctual, UsageError } from '../../dist/index.js'
import { SeededRandom } from '../../dist/testing/index.js'
import { begin } from './life.mjs'

const TICK_MS = 50
const CALLS_AT_ONCE_MAX = 40
const RECENT_MAX = 200
const LIMIT = 6

const { options, log, say, count, on, stopsWhenAsked } = begin()
const { store, queue: name, who, seed, perSecond, topics, leaseMs } = options
const queue = new Punctual({ store, queue: name, logger: false, stopTimeout: options.stopTimeout })
const random = new SeededRandom(seed)

/** Each call has a number of its own; that of a `produce` tells apart the messages of one id. */
let calls = 0
let underWay = 0
let isResting = options.isResting
/** Ids that may still be asked about again. */
const recent = []
const busy = new Set()

const whole = (min, max) => min + Math.floor(random.next() * (max - min + 1))
const pick = (choices) => choices[Math.floor(random.next() * choices.length)]

function weighted(weights) {
  let left = random.next() * Object.values(weights).reduce((sum, weight) => sum + weight, 0)
  return Object.keys(weights).find((key) => (left -= weights[key]) < 0)
}

function drawBehaviour() {
  const does = weighted({
    quick: 60,
    work: 20,
    fail: 6,
    again: 4,
    outlast: 2,
    ignore: 1,
    hang: 0.7,
    'give up': 1,
    kill: 0.15,
  })
  switch (does) {
    case 'work':
      return { does, ms: whole(5, 150) }
    case 'fail':
      return { does, times: whole(1, 3) }
    case 'again':
      return { does, times: whole(1, 2), ms: whole(0, 500) }
    case 'outlast':
    case 'ignore':
      return { does, ms: Math.round(leaseMs * (1.2 + random.next())) }
    default:
      return { does }
  }
}

function drawWhen() {
  const kind = weighted({ now: 20, soon: 35, later: 30, at: 10, past: 5 })
  switch (kind) {
    case 'now':
      return { delay: 0 }
    case 'soon':
      return { delay: whole(1, 1_000) }
    case 'later':
      return { delay: whole(1_000, 10_000) }
    case 'at':
      return { at: Date.now() + whole(0, 5_000) }
    default:
      return { at: Date.now() - whole(1, 60_000) }
  }
}

function drawMessage(id) {
  const behaviour = drawBehaviour()
  const g = (calls += 1)
  const policy = {}
  if (behaviour.does === 'hang') policy.timeout = 700
  if (behaviour.does === 'hang' || behaviour.does === 'kill')
    policy.retry = { delays: ['100ms'], limit: whole(0, 2) }
  if (behaviour.does === 'quick' && random.next() < 0.02) policy.ttl = whole(500, 3_000)
  return {
    topic: behaviour.does === 'quick' || behaviour.does === 'work' ? pick(topics) : 'slow',
    id,
    payload: { g, ...behaviour },
    priority: weighted({ normal: 70, high: 15, low: 15 }),
    ...drawWhen(),
    ...policy,
  }
}

const intent = ({ id, payload, delay, at, ttl, retry, ifExists = 'keep' }) => ({
  what: 'produce',
  id,
  call: payload.g,
  ...(delay === undefined ? { dueAt: at } : { delay }),
  ifExists,
  does: payload.does,
  limit: retry?.limit ?? LIMIT,
  ...(ttl === undefined ? {} : { ttl }),
})

async function produceOne(message) {
  log.write(intent(message))
  await answered([message], ({ topic, payload, ...rest }) => queue.produce(topic, payload, rest))
}

async function produceMany(messages) {
  log.write(...messages.map(intent))
  await answered(messages, () => queue.produceMany(messages))
}

const about = ({ id, payload }) => ({ id, call: payload.g })

async function answered(messages, call) {
  try {
    await call(messages[0])
    log.write(...messages.map((message) => ({ what: 'promised', ...about(message) })))
    count('promised', messages.length)
  } catch (error) {
    const what = error instanceof UsageError ? 'refused' : 'unknown'
    log.write(...messages.map((message) => ({ what, ...about(message), code: error.code ?? String(error) })))
    count(what, messages.length)
  }
  for (const { id } of messages) keepForLater(id)
}

function keepForLater(id) {
  recent.push(id)
  if (recent.length > RECENT_MAX) recent.shift()
}

async function ask(what, id, details, call) {
  const number = (calls += 1)
  log.write({ what, id, call: number, ...details })
  try {
    log.write({ what: 'answered', id, call: number, answer: await call() })
    count(what)
  } catch (error) {
    log.write({ what: 'unknown', id, call: number, code: error.code ?? String(error) })
    count('unknown')
  }
}

const ACTS = {
  one: () => produceOne(drawMessage(newId())),
  many: () => produceMany(Array.from({ length: whole(2, 12) }, () => drawMessage(newId()))),
  cancel: (id) => ask('cancel', id, {}, () => queue.cancel(id)),
  reschedule: (id) => {
    const delay = whole(0, 6_000)
    return ask('reschedule', id, { delay }, () => queue.reschedule(id, { delay }))
  },
  repeat: (id) => produceOne({ ...drawMessage(id), ifExists: pick(['keep', 'replace', 'fail']) }),
}

/** Only ids that say so are produced again: the bookkeeper purges by id, and must not hit the next message of one. */
const REPEATABLE = '+'
const REPEATABLE_SHARE = 0.1

function newId() {
  return `${who}:${calls + 1}${random.next() < REPEATABLE_SHARE ? REPEATABLE : ''}`
}

/** Answers how many messages it asks for. */
function act() {
  const kind = weighted({ one: 60, many: 14, cancel: 6, reschedule: 6, repeat: 5 })
  const isAboutOld = kind === 'cancel' || kind === 'reschedule' || kind === 'repeat'
  const candidates = kind === 'repeat' ? recent.filter((id) => id.endsWith(REPEATABLE)) : recent
  const id = isAboutOld ? pick(candidates) : undefined
  if (isAboutOld && (id === undefined || busy.has(id))) return 0
  const before = calls
  underWay += 1
  if (id !== undefined) busy.add(id)
  void ACTS[kind](id).finally(() => {
    underWay -= 1
    busy.delete(id)
    if (isResting && underWay === 0) say({ said: 'resting' })
  })
  return calls - before
}

/** So many messages in each second, unless too many calls are unanswered. */
let owed = 0
const ticking = setInterval(() => {
  if (isResting) return
  owed = Math.min(owed + (perSecond * TICK_MS) / 1_000, perSecond)
  while (owed >= 1 && underWay < CALLS_AT_ONCE_MAX) owed -= Math.max(act(), 0.1)
}, TICK_MS)

on('rest', () => {
  isResting = true
  if (underWay === 0) say({ said: 'resting' })
})

/** Plain messages whose lateness is measured: the same from one run to the next. */
on('calm', async ({ messages, overMs }) => {
  const batch = Array.from({ length: messages }, (_, i) => ({
    topic: pick(topics),
    id: newId(),
    payload: { g: (calls += 1), does: 'quick' },
    delay: 500 + Math.round((i * overMs) / messages),
  }))
  log.write(...batch.map((message) => ({ ...intent(message), isCalm: true })))
  await answered(batch, () => queue.produceMany(batch))
  say({ said: 'calm' })
})

stopsWhenAsked(queue, () => {
  isResting = true
  clearInterval(ticking)
})
say({ said: 'ready' })
