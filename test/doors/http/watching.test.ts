/**
 * What it costs to be watched, in calls of the store. The server's clock moves when the test says so: the calls are counted
 * round by round, and not by the time they took.
 */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import type { Store } from '../../../src/index.ts'
import { MemoryStore } from '../../../src/store/memory/store.ts'
import { FaultyStore, VirtualClock, type StoreVerb } from '../../../src/testing/index.ts'
import { RedisServer } from '../../store/redis/server.ts'
import { storeAt } from '../../store/redis/stores.ts'
import { listen } from './listening.ts'
import { makeStand, QUEUE, type Stand } from './stand.ts'

const LISTENERS = 200
const SECONDS = 30
const BEAT_S = 5
const BEATS = SECONDS / BEAT_S
const PATIENT = { timeout: 60_000 }

const HOUR = 3_600_000
const HOUR_AT = Math.floor(Date.now() / HOUR) * HOUR

/** What the page "Now" asks besides the live events. */
const QUESTIONS = [
  '/forecast?until=24h&bars=96',
  `/figures?from=${HOUR_AT - 23 * HOUR}&until=${HOUR_AT + HOUR}&step=1h`,
  '/dead',
]

/** It asks when it is opened, and at every beat. */
class Viewer {
  beats = 0
  readonly asked = new Set<Promise<unknown>>()
  readonly #stand: Stand

  constructor(stand: Stand) {
    this.#stand = stand
  }

  async open(): Promise<void> {
    await listen(this.#stand, undefined, ({ event }) => {
      if (event !== 'beat') return
      this.#ask()
      this.beats += 1
    })
    this.#ask()
  }

  #ask(): void {
    for (const question of QUESTIONS) {
      const answer = this.#stand.call('GET', QUEUE + question).finally(() => this.asked.delete(answer))
      this.asked.add(answer)
    }
  }
}

type Tally = Partial<Record<StoreVerb, number>>

function tallyOf(calls: readonly StoreVerb[]): Tally {
  const tally: Tally = {}
  for (const verb of calls) tally[verb] = (tally[verb] ?? 0) + 1
  return tally
}

type Cost = { readonly tally: Tally; readonly sent: number }

/** The calls of half a minute, with so many viewers and 200 listeners. `sent`: what the store has been sent so far. */
async function costOf(inner: Store, viewerCount: number, sent = () => Promise.resolve(0)): Promise<Cost> {
  const store = new FaultyStore(inner, systemClock)
  const clock = new VirtualClock(Date.now())
  const stand = await makeStand({ clock }, { store })
  await stand.queue.produceMany(
    Array.from({ length: 20 }, (_, i) => ({ topic: `topic-${i % 5}`, payload: i, delay: '1h' })),
  )
  await Promise.all(Array.from({ length: LISTENERS }, () => listen(stand)))
  const viewers = Array.from({ length: viewerCount }, () => new Viewer(stand))
  await Promise.all(viewers.map((viewer) => viewer.open()))
  /** The reading rests, has told everybody, and what they asked then is answered. */
  const atRest = async (second: number): Promise<void> => {
    // Each listener has a timer for its comments; the reading has one while it rests, and so has the look whether the server closes.
    const timers = LISTENERS + viewerCount + 2
    const beats = viewers.map(() => Math.floor(second / BEAT_S))
    await expect.poll(() => clock.pendingTimers, PATIENT).toBe(timers)
    await expect.poll(() => viewers.map((viewer) => viewer.beats), PATIENT).toEqual(beats)
    await expect.poll(() => viewers.every(({ asked }) => asked.size === 0), PATIENT).toBe(true)
  }
  await atRest(0)
  const [callsBefore, sentBefore] = [store.calls.length, await sent()]
  for (let second = 1; second <= SECONDS; second += 1) {
    await clock.advance('1s')
    await atRest(second)
  }
  return { tally: tallyOf(store.calls.slice(callsBefore)), sent: (await sent()) - sentBefore }
}

/**
 * Once a second a count; every five seconds the rest of the reading, and what the pages ask (a forecast also looks whether
 * there are schedules); every 15 seconds the last hour of the past day, the others being known.
 */
const EXPECTED: Tally = {
  count: SECONDS,
  countTopics: 2 * BEATS,
  controls: BEATS,
  figures: BEATS + SECONDS / 15,
  forecast: BEATS,
  inspect: BEATS,
}

describe('five dashboards and 200 listeners cost the store what one costs', () => {
  it('memory', async () => {
    for (const viewers of [1, 5])
      expect((await costOf(new MemoryStore(systemClock), viewers)).tally).toEqual(EXPECTED)
  }, 180_000)

  describe('redis', () => {
    let server: RedisServer
    beforeAll(async () => {
      server = await RedisServer.start()
    })
    afterAll(() => server?.stop())

    async function scriptsRun(): Promise<number> {
      const info = String(await server.admin(['INFO', 'commandstats']))
      return Number(/cmdstat_evalsha:calls=(\d+)/.exec(info)?.[1])
    }

    it('redis, by the verbs and by what its server was sent', async () => {
      for (const viewers of [1, 5]) {
        const store = storeAt(server.url)
        onTestFinished(() => store.close())
        const { tally, sent } = await costOf(store, viewers, scriptsRun)
        expect(tally).toEqual(EXPECTED)
        // No verb was more than one call.
        expect(sent).toBe(Object.values(tally).reduce((sum, calls) => sum + calls, 0))
      }
    }, 180_000)
  })
})
