/**
 * A move that ends anywhere: for every call that it makes to a store, once the process dies before the call takes effect,
 * once after it. Then the same move is begun again.
 */
import { WindowBook } from '../../../src/core/windows/windows.ts'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Clock } from '../../../src/clock.ts'
import { MOVES_TOPIC, SCHEDULES_TOPIC } from '../../../src/core/control.ts'
import { FOREVER } from '../../../src/core/controls.ts'
import {
  encodeSchedule,
  NEW_PROGRESS,
  occurrenceId,
  parseSpec,
  scheduleId,
  type SchedulePlan,
} from '../../../src/core/recurrence/spec.ts'
import { moveQueue, surveyMove, type MoveParts, type MoveReport } from '../../../src/queue/moving/move.ts'
import type { Store } from '../../../src/store/contract/store.ts'
import { StoreWrapper, type StoreVerb } from '../../../src/store/contract/verbs.ts'
import { SeededRandom } from '../../../src/testing/seeded-random.ts'
import { claimDue, message } from '../../../src/testing/conformance/stand.ts'
import { ModelStore } from '../../../simulation/world/model-store.ts'
import { controlsOf, fill, HOUR_MS, idsIn, see, type Seen } from './content.ts'

/** Time passes only while somebody waits for it. */
class WaitingClock implements Clock {
  at = Date.UTC(2030, 0, 1)
  readonly now = (): number => this.at
  readonly monotonic = (): number => this.at
  schedule(delayMs: number, run: () => void): { cancel: () => void } {
    this.at += delayMs
    const handle = setImmediate(run)
    return { cancel: () => clearImmediate(handle) }
  }
  soon(run: () => void): void {
    setImmediate(run)
  }
}

/** Each process has another name. */
const random = new SeededRandom(1)

class Death extends Error {}

/** Both stores of one process, which dies at its n-th call. */
class Mortal {
  calls = 0
  readonly #diesAt: number
  readonly #isDone: boolean

  constructor(diesAt: number, isDone: boolean) {
    this.#diesAt = diesAt
    this.#isDone = isDone
  }

  async call<T>(call: () => Promise<T>): Promise<T> {
    this.calls += 1
    if (this.calls > this.#diesAt) throw new Death('the process is gone')
    if (this.calls < this.#diesAt) return call()
    if (this.#isDone) await call()
    throw new Death('the process died')
  }
}

class MortalStore extends StoreWrapper {
  readonly #mortal: Mortal

  constructor(inner: Store, mortal: Mortal) {
    super(inner)
    this.#mortal = mortal
  }

  override around<T>(_verb: StoreVerb, _args: readonly unknown[], call: () => Promise<T>): Promise<T> {
    return this.#mortal.call(call)
  }
}

type Pair = {
  readonly source: Store
  readonly target: Store
  readonly clock: WaitingClock
  readonly before: Seen
}

const EVERY = {
  topic: 'tick',
  body: '{}',
  ...parseSpec(
    { topic: 'tick', payload: {}, every: '1m' },
    { now: Date.UTC(2030, 0, 1), book: new WindowBook() },
  ),
}

const LATER_MS = 1_000
const TARGETS_OWN = occurrenceId('ticking', Date.UTC(2030, 0, 1, 0, 1) + LATER_MS)

/** A schedule that was set here now, and looked at: its first occurrence is placed. */
async function schedule(store: Store, now: number, plan: SchedulePlan = EVERY): Promise<void> {
  const progress = { ...NEW_PROGRESS, fired: 1, anchorAt: now, until: now + 90_000 }
  const at = now + 60_000
  const common = { topic: SCHEDULES_TOPIC, meta: '', priority: 0, ifExists: 'keep' } as const
  await store.put([
    { ...common, id: scheduleId('ticking'), body: encodeSchedule({ plan, progress }), when: { at } },
    { ...common, id: occurrenceId('ticking', at), topic: 'tick', body: '{}', when: { at } },
  ])
}

async function makePair(): Promise<Pair> {
  const clock = new WaitingClock()
  const make = (): Store => new ModelStore(clock.now, { batchMax: 100, leadMs: 25 })
  const [source, target] = [make(), make()]
  await fill(source)
  await source.control({ kind: 'limit', topic: 'other', limit: { concurrency: 3 } })
  await source.control({ kind: 'pause', topic: 'held' })
  await source.control({ kind: 'pause', topic: 'brief', until: { delayMs: HOUR_MS } })
  await schedule(source, clock.at)
  const before = await see(source)
  clock.at += LATER_MS
  await schedule(target, clock.at)
  await target.put([message('resident', { when: { delayMs: HOUR_MS } })])
  return { source, target, clock, before }
}

function move(
  { source, target, clock }: Pair,
  mortal = new Mortal(Infinity, false),
  more: Partial<MoveParts> = {},
): Promise<MoveReport> {
  return moveQueue({
    source: new MortalStore(source, mortal),
    target: new MortalStore(target, mortal),
    clock,
    random,
    host: 'here',
    waitMs: 60_000,
    isAnew: false,
    onProgress: () => undefined,
    ...more,
  })
}

async function expectMoved({ source, target, before }: Pair): Promise<void> {
  expect(idsIn(await see(source))).toEqual([])
  const { waiting, ...rest } = await see(target)
  expect({ ...rest, waiting: waiting.filter(({ id }) => id !== 'resident') }).toEqual(before)
  const own = (await target.inspect({ state: 'delayed', topic: MOVES_TOPIC, limit: 10 })).items
  expect(own.length).toBeLessThanOrEqual(1)
  expect(await controlsOf(target)).toMatchObject([
    { topic: 'brief' },
    { topic: 'held', pausedUntil: FOREVER },
    { topic: 'other', limit: { concurrency: 3 } },
  ])
  expect((await controlsOf(source))[0]).toMatchObject({ topic: '', pausedUntil: FOREVER })
  expect((await claimDue(target, 100, ['other'])).map(({ id }) => id)).toEqual(['ready'])
}

/** Everything is in one of both stores; and what is in both cannot run. */
async function expectWhole({ source, target, before }: Pair, about: string): Promise<void> {
  const [left, arrived] = [idsIn(await see(source)), idsIn(await see(target))]
  // What the schedule of the target has placed may go: the one of the source was first.
  const ids = new Set([...left, ...arrived].filter((id) => id !== TARGETS_OWN))
  expect([...ids].toSorted(), about).toEqual([...idsIn(before), 'resident'].toSorted())
  if (left.some((id) => id !== scheduleId('ticking') && arrived.includes(id))) {
    for (const store of [source, target]) {
      expect(await claimDue(store, 100, ['order.close', 'other', '\u0001schedules']), about).toEqual([])
      expect((await controlsOf(store))[0], about).toMatchObject({ topic: '', pausedUntil: FOREVER })
    }
  }
}

async function expectNoDoubles({ source, target }: Pair): Promise<void> {
  expect(idsIn(await see(source))).toEqual([])
  const ids = idsIn(await see(target))
  expect(new Set(ids).size).toBe(ids.length)
}

describe('a move that dies at every call, and is begun again', async () => {
  const whole = new Mortal(Infinity, false)
  await move(await makePair(), whole)

  for (const isDone of [false, true]) {
    it(`${whole.calls} times ${isDone ? 'after' : 'before'} the call took effect: nothing is lost, nothing doubled`, async () => {
      for (let diesAt = 1; diesAt <= whole.calls; diesAt += 1) {
        const pair = await makePair()
        const about = `died ${isDone ? 'after' : 'before'} call ${diesAt}`
        const mortal = new Mortal(diesAt, isDone)
        // The last call is a goodbye, whose failure is nobody's business.
        await move(pair, mortal).catch((error: unknown) => {
          if (!(error instanceof Death)) throw error
        })
        await expectWhole(pair, about)
        await move(pair)
        await expectMoved(pair)
      }
    })
  }
})

describe('a move', () => {
  let pair: Pair
  beforeEach(async () => {
    pair = await makePair()
  })

  it('tells what it moved, with the counts of both sides', async () => {
    expect(await move(pair)).toMatchObject({
      moved: { schedules: 2, waiting: 8, dead: 2, remembered: 2 },
      conflicts: [],
      left: 0,
      goesOn: true,
      controls: { carried: ['brief', 'held', 'other'], kept: [] },
      before: { source: { delayed: 7, ready: 1, dead: 2 }, target: { delayed: 2 } },
      after: { source: { delayed: 0, ready: 0, dead: 0 }, target: { delayed: 8, ready: 1, dead: 2 } },
    })
    await expectMoved(pair)
  })

  it('again finds nothing more, and moves what came into the source since', async () => {
    await move(pair)
    expect((await move(pair)).moved).toEqual({ schedules: 0, waiting: 0, dead: 0, remembered: 0 })
    await pair.source.put([message('late')])
    expect(await move(pair)).toMatchObject({ moved: { waiting: 1 }, left: 0 })
  })

  it('there and back leaves the queue as it was, and running', async () => {
    const { source, target, clock, before } = pair
    await target.remove(['resident'], 'waiting')
    await move(pair)
    await move({ ...pair, source: target, target: source })
    expect(await see(source)).toEqual(before)
    expect(await controlsOf(source)).toMatchObject([
      { topic: 'brief' },
      { topic: 'held' },
      { topic: 'other' },
    ])
    expect((await claimDue(source, 100, ['other'])).map(({ id }) => id)).toEqual(['ready'])
    expect(clock.at).toBeGreaterThan(0)
  })

  it('leaves what the target holds under the same id, and names it', async () => {
    await pair.target.put([message('m1', { body: '"theirs"' }), message('buried')])
    const { conflicts, moved, left } = await move(pair)
    expect(conflicts.map(({ id, why }) => [id, why])).toEqual([
      ['m1', 'its id is taken in the target by one that differs in body'],
      ['buried', 'its id is taken in the target by one that is ready'],
    ])
    expect([moved.waiting, moved.dead, left]).toEqual([7, 1, 0])
    expect(idsIn(await see(pair.source))).toEqual(['buried', 'm1'])
  })

  it('waits for what runs, and takes back what a dead worker held', async () => {
    const [lease] = await claimDue(pair.source, 1, ['other'])
    const report = await move(pair)
    expect([lease?.id, report.moved.waiting]).toEqual(['ready', 8])
    const [arrived] = (await pair.target.inspect({ ids: ['ready'] })).items
    expect(arrived).toMatchObject({ attempt: 1, lapses: 1 })
  })

  it('gives up after its wait, names what runs, and takes nothing from the source', async () => {
    await claimDue(pair.source, 1, ['other'])
    await expect(move(pair, undefined, { waitMs: 1_000 })).rejects.toMatchObject({
      code: 'MOVE_UNFINISHED',
      value: ['ready'],
    })
    expect(idsIn(await see(pair.target))).toEqual([scheduleId('ticking'), 'resident', TARGETS_OWN])
    await move(pair)
    expect(idsIn(await see(pair.source))).toEqual([])
  })

  it('keeps the pause of a queue that was paused before', async () => {
    await pair.source.control({ kind: 'pause', topic: '' })
    expect(await move(pair)).toMatchObject({ goesOn: false })
    expect((await controlsOf(pair.target))[0]).toMatchObject({ topic: '', pausedUntil: FOREVER })
  })

  it('does not begin where a limit would be lost', async () => {
    const target = new MortalStore(pair.target, new Mortal(Infinity, false))
    Object.assign(target, { capabilities: { ...target.capabilities, features: ['controls'] } })
    await expect(move({ ...pair, target })).rejects.toMatchObject({ code: 'UNSUPPORTED' })
    expect((await controlsOf(pair.source)).map(({ topic }) => topic)).toEqual(['brief', 'held', 'other'])
  })

  it('into itself is refused, and changes nothing', async () => {
    const again = { ...pair, target: pair.source }
    await expect(move(again)).rejects.toMatchObject({ code: 'MOVE_REFUSED' })
    expect(await see(pair.source)).toEqual(pair.before)
    expect((await controlsOf(pair.source)).map(({ topic }) => topic)).toEqual(['brief', 'held', 'other'])
  })

  it('that is unfinished goes on to its own target only, unless it is begun anew', async () => {
    const calls = new Mortal(30, true)
    await expect(move(pair, calls)).rejects.toThrow(Death)
    const other = new ModelStore(pair.clock.now, { batchMax: 100, leadMs: 25 })
    await expect(move({ ...pair, target: other })).rejects.toMatchObject({ code: 'MOVE_REFUSED' })
    await move({ ...pair, target: other }, undefined, { isAnew: true })
    expect(idsIn(await see(other))).toEqual(idsIn(pair.before))
  })

  it('beside another that lives is refused', async () => {
    const leases = await claimDue(pair.source, 1, ['other'])
    let second: unknown
    let isBegun = false
    const first = move(pair, undefined, {
      waitMs: 3_600_000,
      onProgress: ({ step }) => {
        if (step !== 'wait') return
        if (second === undefined) void pair.source.extend(leases, 30_000) // Its handler runs on.
        if (!isBegun) void move(pair).catch((error: unknown) => (second = error))
        isBegun = true
      },
    })
    await first
    expect(second).toMatchObject({ code: 'MOVE_REFUSED' })
    await expectNoDoubles(pair)
  })

  it('as a survey counts what there is and which ids are taken, and changes nothing', async () => {
    await pair.target.put([message('m1', { body: '"theirs"' })])
    const survey = await surveyMove({ ...pair, onProgress: () => undefined })
    expect(survey).toMatchObject({
      found: { schedules: 2, waiting: 7, dead: 2, remembered: 2 },
      conflicts: [{ id: 'm1' }],
      running: 0,
    })
    expect(await see(pair.source)).toEqual(pair.before)
    expect((await controlsOf(pair.source)).map(({ topic }) => topic)).toEqual(['brief', 'held', 'other'])
  })
})

describe('a schedule that both sides have', () => {
  const id = scheduleId('ticking')
  const bodyIn = async (store: Store): Promise<string | undefined> =>
    (await store.inspect({ ids: [id] })).items[0]?.body
  let pair: Pair
  beforeEach(async () => {
    pair = await makePair()
  })

  it('that was set in the source after it was moved, by an old process: the one in the target goes on', async () => {
    const { source, target, clock } = pair
    await move(pair)
    const [body, seen] = [await bodyIn(target), idsIn(await see(target))]
    clock.at += LATER_MS
    await schedule(source, clock.at)
    expect(await move(pair)).toMatchObject({ moved: { schedules: 0, waiting: 0 }, conflicts: [], left: 0 })
    expect(await bodyIn(target)).toBe(body)
    expect(idsIn(await see(target))).toEqual(seen)
    expect(idsIn(await see(source))).toEqual([])
  })

  it('and that says something else in the target stays in both, with the remedy', async () => {
    const { source, target, clock } = pair
    await target.remove([id, TARGETS_OWN], 'waiting')
    await schedule(target, clock.at, { ...EVERY, body: '{"other":1}' })
    const survey = await surveyMove({ ...pair, onProgress: () => undefined })
    const { conflicts, moved } = await move(pair)
    expect([survey.found.schedules, moved.schedules]).toEqual([1, 1])
    for (const found of [survey.conflicts, conflicts]) {
      expect(found.map((one) => one.id)).toEqual([id])
      expect(found[0]?.why).toContain('"punctual schedule remove ticking"')
    }
    expect(await bodyIn(source)).toBeDefined()
    expect(await bodyIn(target)).toContain('other')
  })

  it.each(['source', 'target'] as const)(
    'and was removed in the %s, where its trace is kept: the other one goes on',
    async (side) => {
      const [inSource, inTarget] = [await bodyIn(pair.source), await bodyIn(pair.target)]
      const trace = {
        plan: EVERY,
        progress: { ...NEW_PROGRESS, isRemoved: true, until: pair.clock.at },
      } as const
      const store = pair[side]
      await store.remove([id], 'waiting')
      const when = { at: pair.clock.at + HOUR_MS }
      await store.put([message(id, { topic: SCHEDULES_TOPIC, body: encodeSchedule(trace), when })])
      expect(await move(pair)).toMatchObject({ conflicts: [], left: 0 })
      expect(await bodyIn(pair.target)).toBe(side === 'source' ? inTarget : inSource)
      expect(await bodyIn(pair.source)).toBeUndefined()
    },
  )

  it('and has placed the same moment on both: the survey says what the move does, and it tells what was withdrawn', async () => {
    const { source, target, clock } = pair
    await target.remove([id, TARGETS_OWN], 'waiting')
    await schedule(target, clock.at - LATER_MS)
    const survey = await surveyMove({ ...pair, onProgress: () => undefined })
    expect(survey).toMatchObject({ conflicts: [], found: { schedules: 2, waiting: 8 } })
    expect(await move(pair)).toMatchObject({ moved: survey.found, withdrawn: 1, conflicts: [] })
    clock.at += LATER_MS
    await schedule(source, clock.at - 2 * LATER_MS)
    const again = await surveyMove({ ...pair, onProgress: () => undefined })
    expect(again).toMatchObject({ conflicts: [], found: { schedules: 0, waiting: 0 } })
    expect(await move(pair)).toMatchObject({ moved: again.found, withdrawn: 1, conflicts: [], left: 0 })
  })

  it('and that a worker of the target looks at is waited for', async () => {
    const { target, clock } = pair
    clock.at += 60_000
    const [look] = await claimDue(target, 1, [SCHEDULES_TOPIC])
    expect(look?.id).toBe(id)
    let waits = 0
    const report = await move(pair, undefined, {
      onProgress: ({ step }) => {
        if (step !== 'wait') return
        waits += 1
        if (waits === 1 && look !== undefined)
          void target.settle([{ kind: 'release', id, token: look.token, topic: look.topic }])
      },
    })
    expect([report.conflicts, waits > 0]).toEqual([[], true])
  })
})
