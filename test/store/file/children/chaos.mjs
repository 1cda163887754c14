/**
 * Puts, claims, settles, cancels and reschedules at random until it is killed. It says what it is about to do to
 * a message before, and what has been done after the store resolved:
 *
 *   opened | stored <id> | claimed <id> <attempt> | about <id> | completed <id> | back <id> <attempt> | dead <id>
 */
import { args, claim, message, ref, say, store } from './store.mjs'

let state = args.seed
const random = () => {
  state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
  return state / 2_147_483_648
}
const upTo = (max) => Math.floor(random() * max)

let made = 0
const meddled = new Set()

async function produce() {
  const count = 1 + upTo(20)
  const messages = Array.from({ length: count }, () => {
    made += 1
    return message(`${args.seed}-${made}`, { priority: upTo(3), when: { delayMs: upTo(40) } })
  })
  await store.put(messages)
  for (const { id } of messages) say(`stored ${id}`)
}

async function work() {
  const { leases } = await claim(1 + upTo(20))
  for (const { id, attempt } of leases) say(`claimed ${id} ${attempt}`)
  const settlements = leases.flatMap((lease) => {
    const kind = ['ack', 'ack', 'retry', 'release', 'dead', 'none'][upTo(6)]
    if (kind === 'none') return []
    say(`about ${lease.id}`)
    return [
      { ...ref(lease), kind, delayMs: upTo(40), error: 'boom', reason: 'failed', attempt: lease.attempt },
    ]
  })
  const results = await store.settle(settlements)
  for (const [index, { id, kind, attempt }] of settlements.entries()) {
    if (results[index] !== 'settled') throw new Error(`${id}: ${kind} was ${results[index]}`)
    if (kind === 'ack') say(`completed ${id}`)
    // Another lane may have asked to revive it before we come to say that it died.
    else if (kind === 'dead') say(`${meddled.has(id) ? 'about' : 'dead'} ${id}`)
    else say(`back ${id} ${kind === 'retry' ? attempt : attempt - 1}`)
  }
}

async function meddle() {
  const id = `${args.seed}-${1 + upTo(made + 1)}`
  meddled.add(id)
  say(`about ${id}`)
  if (random() < 0.5) await store.reschedule([{ id, when: { delayMs: upTo(40) } }])
  else await store.revive([id])
}

say('opened')
const lane = async () => {
  for (;;) {
    const dice = random()
    if (dice < 0.45) await produce()
    else if (dice < 0.9) await work()
    else await meddle()
  }
}
await Promise.all([lane(), lane(), lane()])
