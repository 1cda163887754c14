/** P8: every cell of the table in `core/machines/transition`, on the real engine. */
import assert from 'node:assert/strict'
import { assertNever } from '../../core/errors.ts'
import { MESSAGE_STATES } from '../../core/message.ts'
import { VERBS, transition, type Place, type Verb } from '../../core/machines/transition.ts'
import type { Lease, Store } from '../../store/contract/store.ts'
import { takeCensus } from '../census.ts'
import {
  LEASE_MS,
  ack,
  again,
  claimDue,
  claimLapsed,
  claimOne,
  dead,
  find,
  message,
  placeOf,
  release,
  retry,
  type ConformanceSubject,
} from './stand.ts'
import { test, type ConformanceTest } from './test.ts'

const ID = 'walker'
const DELAY_MS = 60_000
const PLACES: readonly Place[] = [...MESSAGE_STATES, 'gone']

/** The answer that says "nothing was there to act on". */
const REFUSALS: readonly unknown[] = ['missing', 'running', 'lost', undefined]

/** Brings the message to a place; the lease is the last one that was held, so that settling with it can be tried. */
async function bring({ store, advance }: ConformanceSubject, place: Place): Promise<Lease> {
  await store.put([message(ID)])
  const first = await claimOne(store)
  switch (place) {
    case 'delayed':
      await store.settle([retry(first, DELAY_MS)])
      return first
    case 'ready':
      await store.settle([retry(first, DELAY_MS)])
      await advance(DELAY_MS)
      return first
    case 'running':
      return first
    case 'dead':
      await store.settle([dead(first)])
      return first
    case 'gone':
      await store.settle([ack(first)])
      return first
    default:
      return assertNever(place)
  }
}

async function apply({ store, advance }: ConformanceSubject, verb: Verb, lease: Lease): Promise<unknown> {
  switch (verb) {
    case 'due':
      await advance(DELAY_MS)
      return undefined
    case 'claim':
      return (await claimDue(store))[0]?.id
    case 'lapse':
      await advance(LEASE_MS)
      return (await claimLapsed(store))[0]?.id
    case 'ack':
      return (await store.settle([ack(lease)]))[0]
    case 'retry':
      return (await store.settle([retry(lease, DELAY_MS)]))[0]
    case 'again':
      return (await store.settle([again(lease, { delayMs: DELAY_MS })]))[0]
    case 'release':
      return (await store.settle([release(lease)]))[0]
    case 'dead':
      return (await store.settle([dead(lease)]))[0]
    case 'cancel':
      return (await store.remove([ID], 'waiting'))[0]
    case 'reschedule':
      return (await store.reschedule([{ id: ID, when: { delayMs: DELAY_MS } }]))[0]
    case 'revive':
      return (await store.revive([ID]))[0]
    case 'purge':
      return purge(store)
    default:
      return assertNever(verb)
  }
}

/** As `queue.purge` does it: by the state in which the message was found. */
async function purge(store: Store): Promise<unknown> {
  const place = await placeOf(store, ID)
  return (await store.remove([ID], place === 'dead' ? 'dead' : 'waiting'))[0]
}

async function check(subject: ConformanceSubject, place: Place, verb: Verb): Promise<void> {
  const lease = await bring(subject, place)
  assert.equal(await placeOf(subject.store, ID), place, 'the way there')
  const before = await find(subject.store, ID)
  const answer = await apply(subject, verb, lease)
  const target = transition(place, verb)
  const after = await placeOf(subject.store, ID)
  if (target === undefined) {
    assert.ok(REFUSALS.includes(answer), `the answer was ${String(answer)}`)
    // Time itself moves what waits; any other refused verb leaves the message as it was.
    if (verb !== 'lapse' || place !== 'delayed') assert.deepEqual(await find(subject.store, ID), before)
  } else if (target === 'waiting') {
    assert.ok(after === 'delayed' || after === 'ready', `it is ${after}`)
  } else {
    assert.equal(after, target)
  }
  await takeCensus(subject.store)
}

export const stateTests: readonly ConformanceTest[] = PLACES.flatMap((place) =>
  VERBS.map((verb) => {
    const target = transition(place, verb)
    const outcome = target === undefined ? 'changes nothing' : `makes it ${target}`
    return test(`P8: ${verb} on a message that is ${place} ${outcome}`, (subject) =>
      check(subject, place, verb))
  }),
)
