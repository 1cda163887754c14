/** A handler that completes its message in a transaction of its own: what the store is asked, and what is told of its answers. */
import { describe, expect, it } from 'vitest'
import type { TransactionHandle } from '../../../src/core/input/transaction.ts'
import type { Ending, Outcome } from '../../../src/core/machines/outcome.ts'
import { QUEUED, type RunEvent } from '../../../src/core/machines/run.ts'
import type { SettleAnswer, SettleEntry, Settler } from '../../../src/runtime/leases/settler.ts'
import type { FollowUpList } from '../../../src/runtime/runs/follow-ups.ts'
import { completeIn, wasCommitted, type JoiningParts } from '../../../src/runtime/runs/joining.ts'
import { Run, type RunSource } from '../../../src/runtime/runs/run.ts'
import { Settlements } from '../../../src/runtime/runs/settlement.ts'
import { Events } from '../../../src/runtime/telling/events.ts'
import { QueueMeter } from '../../../src/runtime/telling/meter.ts'
import type { Reports } from '../../../src/runtime/telling/reports.ts'
import type {
  JoinedVerbs,
  NewMessage,
  SettleResult,
  StoredMessage,
} from '../../../src/store/contract/store.ts'
import { SeededRandom } from '../../../src/testing/index.ts'
import { makeLane, makeRun, type RunFacts } from './runs.ts'

const TRANSACTION: TransactionHandle = async () => []
const RETURNED: Ending = { kind: 'returned', result: undefined }
const BROKEN = new Error('broken')
const START: RunEvent = { kind: 'start' }

function makeRunning(facts: RunFacts = {}, rememberMs?: number): Run {
  const { lease, lane } = makeRun('a', makeLane('t'), facts)
  const run = new Run(lease, lane, rememberMs === undefined ? {} : { rememberMs }, {
    source: {} as RunSource,
    state: QUEUED,
    startsAt: 0,
    leaseEndsAt: 10_000,
  })
  run.step(START)
  return run
}

function found(facts: Partial<StoredMessage>): StoredMessage {
  return { state: 'running', firstDueAt: 0, ...facts } as StoredMessage
}

/** A store that answers so, and has this message under the id. */
function makeParts(answer: SettleResult, there?: StoredMessage) {
  const asked: unknown[] = []
  const complete: JoinedVerbs['complete'] = async (settlement) => {
    asked.push(settlement)
    return answer
  }
  const parts: JoiningParts = {
    join: async (transaction) => {
      asked.push(transaction)
      return { complete } as JoinedVerbs
    },
    find: async (id) => {
      asked.push(`find ${id}`)
      return there
    },
  }
  return { asked, parts }
}

describe('complete({ transaction })', () => {
  const ACK = { kind: 'ack', isOwnWord: true, id: 'a', token: 'token of a', topic: 't' }

  it('the fenced ack goes into the transaction, with nothing that the attempt has not', async () => {
    const { asked, parts } = makeParts('settled')
    const run = makeRunning()
    await completeIn(run, parts, { transaction: TRANSACTION })
    expect(asked).toStrictEqual([TRANSACTION, ACK])
    expect(run.isJoined).toBe(true)
  })

  it('what is to be remembered and what is attached go with it, once that is checked', async () => {
    const { asked, parts } = makeParts('settled')
    const run = makeRunning({}, 5_000)
    const messages = [{ id: 'next' } as NewMessage]
    let isChecked = false
    const list = {
      whenChecked: async () => void (isChecked = true),
      get messages() {
        return isChecked ? messages : []
      },
      failure: undefined,
    }
    run.followUps = list as unknown as FollowUpList
    await completeIn(run, parts, { transaction: TRANSACTION })
    const remember = { ms: 5_000, outcome: 'completed', result: '' }
    expect(asked[1]).toStrictEqual({ ...ACK, remember, followUps: messages })
  })

  it('nothing is sent when a follow-up is refused, nor with options that are none', async () => {
    const { asked, parts } = makeParts('settled')
    const run = makeRunning()
    const list = { whenChecked: async () => undefined, messages: [], failure: { error: BROKEN } }
    run.followUps = list as unknown as FollowUpList
    await expect(completeIn(run, parts, { transaction: TRANSACTION })).rejects.toBe(BROKEN)
    await expect(completeIn(run, parts, { transaction: 5 })).rejects.toMatchObject({ code: 'OPTION_INVALID' })
    expect([asked, run.isJoined]).toEqual([[], false])
  })

  it('an attempt that is over completes nothing', async () => {
    const { asked, parts } = makeParts('settled')
    const run = makeRun('a', makeLane('t'))
    await expect(completeIn(run, parts, { transaction: TRANSACTION })).rejects.toMatchObject({
      code: 'ATTEMPT_OVER',
      value: 'a',
      message: expect.stringContaining('is over; complete it before the handler ends') as string,
    })
    expect(asked).toEqual([])
  })

  it('P4: a lease that is lost is said to be lost, without a further question', async () => {
    const { asked, parts } = makeParts('lost')
    const run = makeRunning()
    await expect(completeIn(run, parts, { transaction: TRANSACTION })).rejects.toMatchObject({
      code: 'LEASE_LOST',
      value: 'a',
    })
    expect([asked.length, run.isJoined]).toEqual([2, false])
  })

  it('a second call after the commit is told so; while another worker has the message it is not', async () => {
    const run = makeRunning()
    await completeIn(run, makeParts('settled').parts, { transaction: TRANSACTION })
    const again = (there?: StoredMessage) =>
      completeIn(run, makeParts('lost', there).parts, { transaction: TRANSACTION })
    await expect(again()).rejects.toMatchObject({
      code: 'ATTEMPT_OVER',
      message: expect.stringContaining('is completed already') as string,
    })
    await expect(again(found({}))).rejects.toMatchObject({ code: 'LEASE_LOST' })
  })

  it('was committed: gone, remembered, or another message under its id; not one that is still there', async () => {
    const run = makeRunning({ firstDueAt: 700 })
    const isCommitted = (there?: StoredMessage) => wasCommitted(run, makeParts('lost', there).parts)
    expect(await isCommitted()).toBe(true)
    expect(await isCommitted(found({ state: 'completed', firstDueAt: 700 }))).toBe(true)
    expect(await isCommitted(found({ firstDueAt: 701 }))).toBe(true)
    expect(await isCommitted(found({ firstDueAt: 700 }))).toBe(false)
  })
})

/** Concludes a joined run so, has the store answer so, and says what was told of it. */
async function tellOf(ending: Ending, answer: SettleAnswer, find: JoiningParts['find']) {
  const told: unknown[] = []
  const events = new Events({ warn: () => undefined, error: () => undefined }, new QueueMeter())
  for (const name of ['failed', 'lost'] as const) events.on(name, ({ id }) => told.push(`${name} ${id}`))
  events.on('error', ({ message }) => told.push(message))
  const entries: SettleEntry[] = []
  const settler = { add: (entry: SettleEntry) => void entries.push(entry) } as Settler
  const run = makeRun('a', makeLane('t'), { attempt: 1 })
  Object.assign(run, { source: { settler, returned: () => undefined }, isJoined: true })
  const settlements = new Settlements({
    join: () => Promise.reject(BROKEN),
    find,
    random: new SeededRandom(1),
    events,
    reports: { settled: ({ kind }: Outcome) => void told.push(`settled ${kind}`) } as unknown as Reports,
    leaseMs: 1_000,
    onAnswered: () => void told.push('answered'),
  })
  settlements.conclude(run, ending)
  const [entry] = entries
  const kind = entry?.settlement.kind
  expect(told).toEqual([])
  await entry?.answered(answer)
  return { kind, told }
}

const gone = async (): Promise<undefined> => undefined
const there = async (): Promise<StoredMessage> => found({})
const away = (): Promise<never> => Promise.reject(BROKEN)

describe('how such an attempt ends', () => {
  it('what the handler returned says nothing: asked as a failure, the store finds it gone, and it is completed', async () => {
    expect(await tellOf(RETURNED, 'lost', gone)).toEqual({ kind: 'retry', told: ['answered', 'settled ack'] })
    expect(await tellOf(RETURNED, 'maybe', gone)).toMatchObject({ told: ['answered', 'settled ack'] })
  })

  it('a transaction that was rolled back: the attempt has failed, and that is told when the store has said so', async () => {
    expect(await tellOf(RETURNED, 'settled', gone)).toEqual({
      kind: 'retry',
      told: ['answered', 'failed a', 'settled retry'],
    })
  })

  it('P4: still there, another worker has it; and when nobody can be asked, nobody knows', async () => {
    expect(await tellOf(RETURNED, 'lost', there)).toMatchObject({ told: ['answered', 'lost a'] })
    expect(await tellOf(RETURNED, 'lost', away)).toMatchObject({ told: ['answered', 'lost a'] })
  })

  it('a handler that threw after the commit: completed, and its error is told; one that timed out has none', async () => {
    const { told } = await tellOf({ kind: 'threw', error: BROKEN }, 'lost', gone)
    expect(told).toEqual(['answered', 'broken', 'settled ack'])
    const late = await tellOf({ kind: 'timed out', timeoutMs: 5 }, 'lost', gone)
    expect(late.told).toEqual(['answered', 'settled ack'])
  })

  it('its own word is taken as it is', async () => {
    const { kind } = await tellOf({ kind: 'returned', result: 1, isOwnWord: true }, 'settled', gone)
    expect(kind).toBe('ack')
  })

  it('P6: one that is locked is told once', () => {
    const told: string[] = []
    const events = new Events({ warn: () => undefined, error: () => undefined }, new QueueMeter())
    events.on('error', ({ message }) => told.push(message))
    const entries: SettleEntry[] = []
    const run = makeRun('a', makeLane('t'))
    const source = { settler: { add: (entry: SettleEntry) => void entries.push(entry) } }
    Object.assign(run, { source, isJoined: true })
    const parts = { events, random: new SeededRandom(1), leaseMs: 1_000 }
    new Settlements(parts as unknown as ConstructorParameters<typeof Settlements>[0]).settle(run, {
      kind: 'release',
    })
    entries[0]?.locked?.()
    entries[0]?.locked?.()
    expect(told.length).toBe(1)
  })
})
