/**
 * A process works on the store and is killed with SIGKILL at a random moment, again and again on the same directory.
 * After each death the books must agree and everything that was acknowledged must be there, exactly once.
 *
 *   PUNCTUAL_CRASH_ROUNDS=500 PUNCTUAL_CRASH_SEED=7 npx vitest run test/store/file/crash.test.ts
 */
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import type { StoredMessage } from '../../../src/store/contract/store.ts'
import { takeCensus } from '../../../src/testing/census.ts'
import { VirtualClock } from '../../../src/testing/virtual-clock.ts'
import { openStore, temporaryDirectory, type TemporaryDirectory } from './bench.ts'
import { endAll, start } from './programs.ts'

const ROUNDS = Number(process.env['PUNCTUAL_CRASH_ROUNDS'] ?? 30)
const SEED = Number(process.env['PUNCTUAL_CRASH_SEED'] ?? 1)
/** Some die while they open the store, most at work. */
const LIFE_MS_MAX = 150

/** What is known of a message from what the children said. `unsure`: something was about to happen to it. */
type Known = { state: 'waiting' | 'running' | 'dead' | 'gone' | 'unsure'; attempt: number }

let place: TemporaryDirectory

beforeAll(async () => {
  place = await temporaryDirectory()
})

afterAll(async () => {
  await endAll()
  await place.remove()
})

test(
  `P2, P8: ${ROUNDS} deaths by SIGKILL, and nothing acknowledged is lost or doubled`,
  async () => {
    const known = new Map<string, Known>()
    let acknowledged = 0
    for (let round = 0; round < ROUNDS; round += 1) {
      const seed = SEED * 1000 + round
      const child = start('chaos.mjs', { directory: place.directory, seed })
      if (round % 5 !== 0) await child.said('opened')
      await pause((((seed * 7919) % 1000) / 1000) * LIFE_MS_MAX)
      await child.kill()
      for (const line of child.lines) learn(known, line)
      acknowledged += child.lines.length
      await checkRound(known, `round ${round} of seed ${SEED}`)
    }
    expect(acknowledged).toBeGreaterThan(ROUNDS)
  },
  ROUNDS * 20_000,
)

function learn(known: Map<string, Known>, line: string): void {
  const [verb, id = '', attempt = '0'] = line.split(' ')
  const before = known.get(id)
  switch (verb) {
    case 'stored':
      // Another lane may have claimed it and said so before we heard of the put.
      if (before === undefined) known.set(id, { state: 'waiting', attempt: 0 })
      break
    case 'claimed':
      known.set(id, { state: 'running', attempt: Number(attempt) })
      break
    case 'about':
      known.set(id, { state: 'unsure', attempt: before?.attempt ?? 0 })
      break
    case 'back':
      known.set(id, { state: 'waiting', attempt: Number(attempt) })
      break
    case 'completed':
      known.set(id, { state: 'gone', attempt: 0 })
      break
    case 'dead':
      known.set(id, { state: 'dead', attempt: before?.attempt ?? 0 })
      break
    default:
  }
}

async function checkRound(known: Map<string, Known>, where: string): Promise<void> {
  // The clock stands still, so that nothing comes due while it is being counted.
  const store = await openStore(place.directory, { clock: new VirtualClock(systemClock.now()) })
  try {
    const { messages } = await takeCensus(store)
    const found = new Map(messages.map((message) => [message.id, message]))
    for (const [id, knowledge] of known) {
      expect(fits(knowledge, found.get(id)), `${where}: ${id} is known to be ${knowledge.state}`).toBe(true)
      // What became of the unsure ones is now a fact that must hold from here on.
      known.set(id, factOf(found.get(id)))
    }
    for (const { id, body } of messages) expect(JSON.parse(body)).toEqual({ id })
  } finally {
    await store.close()
  }
}

function fits({ state, attempt }: Known, found: StoredMessage | undefined): boolean {
  const fact = factOf(found)
  switch (state) {
    case 'unsure':
      return true
    case 'waiting':
      // It may have been claimed by a call whose answer died with the process; that counts as an attempt (P6).
      return fact.state === 'waiting' || (fact.state === 'running' && fact.attempt === attempt + 1)
    case 'running':
      return fact.state === 'running' && fact.attempt === attempt
    default:
      return fact.state === state
  }
}

function factOf(found: StoredMessage | undefined): Known {
  if (found === undefined || found.state === 'completed') return { state: 'gone', attempt: 0 }
  const state = found.state === 'delayed' || found.state === 'ready' ? 'waiting' : found.state
  return { state, attempt: found.attempt }
}
