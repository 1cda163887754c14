/** What becomes of drafts, without a queue: by the answers of the store, and where there are none. */
import { describe, expect, it } from 'vitest'
import { InvariantError, UnavailableError, UsageError } from '../../../src/core/errors.ts'
import { Producer, type Draft } from '../../../src/runtime/producer.ts'
import { QueueMeter } from '../../../src/runtime/telling/meter.ts'
import type { Capabilities, NewMessage, PutResult, Store } from '../../../src/store/contract/store.ts'
import { StoreWrapper } from '../../../src/store/contract/verbs.ts'
import { MemoryStore } from '../../../src/store/memory/store.ts'
import { SeededRandom, VirtualClock } from '../../../src/testing/index.ts'
import { gate } from '../world.ts'

const AWAY = new UnavailableError('STORE_UNAVAILABLE', 'The store is away.')

/** As it is told of one message. */
function awayOf(id: string): object {
  return { code: 'STORE_UNAVAILABLE', value: id, cause: AWAY }
}
const BROKEN = new InvariantError('a damaged record')

type Put = (messages: readonly NewMessage[], call: number) => Promise<PutResult[]>

function makeProducer(capabilities: Partial<Capabilities> = {}) {
  const clock = new VirtualClock()
  const puts: (readonly NewMessage[])[] = []
  const memory = new MemoryStore(clock)
  const scene: { put: Put; inspect: Store['inspect'] } = {
    put: (messages) => memory.put(messages),
    inspect: (query) => memory.inspect(query),
  }
  let inspections = 0
  class Spy extends StoreWrapper {
    override put(messages: readonly NewMessage[]): Promise<PutResult[]> {
      puts.push(messages)
      return scene.put(messages, puts.length)
    }
    override inspect(query: Parameters<Store['inspect']>[0]): ReturnType<Store['inspect']> {
      inspections += 1
      return scene.inspect(query)
    }
  }
  const meter = new QueueMeter()
  const producer = new Producer(new Spy(memory, capabilities), clock, new SeededRandom(1), meter)
  const idsOfPuts = (): string[][] => puts.map((messages) => messages.map(({ id }) => id))
  return { clock, idsOfPuts, inspections: () => inspections, memory, meter, producer, puts, scene }
}

type DraftFacts = Partial<Omit<Draft, 'message'> & Pick<NewMessage, 'topic' | 'body'>>

function draft(id: string, { topic = 't', body = '', ...more }: DraftFacts = {}): Draft {
  const message = { id, topic, body, meta: '', priority: 1, when: { delayMs: 0 }, ifExists: 'keep' } as const
  return { message, ifExists: 'keep', hasOwnId: true, idPrefix: '', ...more }
}

function generated(id: string, more: DraftFacts = {}): Draft {
  return draft(id, { ...more, hasOwnId: false, idPrefix: 'p-' })
}

/** Of so many bytes. */
function large(id: string, length: number): Draft {
  return draft(id, { topic: '', body: 'x'.repeat(length - id.length) })
}

const drafts = (count: number): Draft[] => Array.from({ length: count }, (_, i) => draft(`m${i}`))
const answer =
  (...results: readonly PutResult[]): Put =>
  async () => [...results]

describe('what became of a draft', () => {
  it.each([
    ['stored', 'keep', 'stored'],
    ['replaced', 'replace', 'replaced'],
    ['succeeds', 'replace', 'replaced'],
    ['duplicate', 'keep', 'kept'],
    ['duplicate', 'fail', 'ID_EXISTS'],
  ] as const)('the store says %s, and it should %s: %s', async (result, ifExists, outcome) => {
    const { meter, producer, scene } = makeProducer()
    scene.put = answer(result)
    const one = producer.produceOne(draft('x', { ifExists }))
    if (outcome === 'ID_EXISTS') {
      await expect(one).rejects.toMatchObject({ code: outcome, value: 'x' })
      await expect(producer.produce(draft('x', { ifExists }))).rejects.toMatchObject({ code: outcome })
      expect(await producer.produceEach([draft('x', { ifExists })])).toMatchObject([{ code: outcome }])
    } else {
      expect(await one).toEqual({ id: 'x', outcome })
      expect(await producer.produce(draft('x', { ifExists }))).toBe('x')
      expect(await producer.produceEach([draft('x', { ifExists })])).toEqual([{ id: 'x', outcome }])
    }
    expect(meter.topic('t').produced).toBe(result === 'duplicate' ? 0 : 3)
  })

  it('one that is refused keeps its neighbours from nothing', async () => {
    const { producer, scene } = makeProducer()
    scene.put = answer('stored', 'duplicate', 'replaced')
    const fail = draft('b', { ifExists: 'fail' })
    const calls = [draft('a'), fail, draft('c')].map((one) => producer.produce(one))
    expect(await Promise.allSettled(calls)).toMatchObject([
      { value: 'a' },
      { reason: { code: 'ID_EXISTS', value: 'b' } },
      { value: 'c' },
    ])
  })

  it('an answer that is too short is heard by those whom it leaves out', async () => {
    const { producer, scene } = makeProducer()
    scene.put = answer('stored')
    const calls = [draft('a'), draft('b')].map((one) => producer.produce(one))
    expect(await Promise.allSettled(calls)).toMatchObject([
      { value: 'a' },
      { reason: { name: 'InvariantError' } },
    ])
    await expect(producer.produceMany([draft('a'), draft('b')])).rejects.toThrow('fewer')
  })

  it('a call that fails is heard by all who share it', async () => {
    const { producer, scene } = makeProducer()
    scene.put = () => Promise.reject(AWAY)
    const calls = [draft('a'), draft('b')].map((one) => producer.produce(one))
    expect(await Promise.allSettled(calls)).toMatchObject([
      { status: 'rejected', reason: awayOf('a') },
      { status: 'rejected', reason: awayOf('b') },
    ])
  })
})

describe('P5: a generated id that is taken', () => {
  it.each([
    ['another body', { body: 'theirs' }],
    ['another topic', { topic: 'theirs' }],
  ])('by a stranger’s message with %s: another id is drawn, and both are stored', async (_, theirs) => {
    const { memory, producer, puts } = makeProducer()
    await memory.put([draft('x', { topic: 't', body: 'ours', ...theirs }).message])
    const { id, outcome } = await producer.produceOne(generated('x', { body: 'ours' }))
    expect(outcome).toBe('stored')
    expect(id).toMatch(/^p-.{16}$/u)
    expect(puts).toHaveLength(2)
    const { items } = await memory.inspect({ ids: ['x', id] })
    expect(items).toMatchObject([
      { id: 'x', topic: 't', body: 'ours', ...theirs },
      { id, topic: 't', body: 'ours' },
    ])
  })

  it('by our own, of a call that the network doubled: all is well', async () => {
    const { memory, producer, puts } = makeProducer()
    await memory.put([draft('x', { body: 'ours' }).message])
    expect(await producer.produceOne(generated('x', { body: 'ours' }))).toEqual({
      id: 'x',
      outcome: 'stored',
    })
    expect(puts).toHaveLength(1)
  })

  it('by one that is gone when we look: that was ours too', async () => {
    const { producer, puts, scene } = makeProducer()
    scene.put = answer('duplicate')
    expect(await producer.produceOne(generated('x'))).toEqual({ id: 'x', outcome: 'stored' })
    expect(puts).toHaveLength(1)
  })

  it('again and again: gives up after ten', async () => {
    const { idsOfPuts, inspections, memory, producer, scene } = makeProducer()
    scene.put = async (messages) => {
      await memory.put(messages.map((message) => ({ ...message, body: 'theirs' })))
      return ['duplicate']
    }
    await expect(producer.produce(generated('x', { body: 'ours' }))).rejects.toThrow(
      '10 generated ids in a row',
    )
    expect([inspections(), new Set(idsOfPuts().flat()).size]).toEqual([10, 11])
  })

  it('the answer to the new id counts', async () => {
    const { memory, producer, scene } = makeProducer()
    await memory.put([draft('x', { body: 'theirs' }).message])
    scene.put = async (_, call) => (call === 1 ? ['duplicate'] : [])
    await expect(producer.produce(generated('x'))).rejects.toThrow('fewer')
  })

  it('P11: a drain waits for the new id', async () => {
    const { memory, producer, puts, scene } = makeProducer()
    await memory.put([draft('x', { body: 'theirs' }).message])
    const { opened, open } = gate()
    scene.inspect = async (query) => {
      await opened
      return memory.inspect(query)
    }
    const producing = producer.produce(generated('x', { body: 'ours' }))
    let isDrained = false
    const draining = producer.drain().then(() => (isDrained = true))
    await new Promise((resolve) => setImmediate(resolve))
    expect(isDrained).toBe(false)
    open()
    await draining
    expect(puts).toHaveLength(2)
    expect(await producing).toMatch(/^p-/u)
  })
})

describe('drain', () => {
  it('sends what waits for the end of its turn, and waits for its answer, good or bad', async () => {
    for (const isGood of [true, false]) {
      const { producer, puts, scene } = makeProducer()
      const { opened, open } = gate()
      scene.put = async () => {
        await opened
        if (isGood) return ['stored']
        throw AWAY
      }
      const calls = Promise.allSettled([producer.produce(draft('a'))])
      const draining = producer.drain()
      expect(puts).toHaveLength(1)
      const many = Promise.allSettled([producer.produceMany([draft('b')])])
      let isDrained = false
      void draining.then(() => (isDrained = true))
      await new Promise((resolve) => setImmediate(resolve))
      expect([isDrained, puts.length]).toEqual([false, 2])
      open()
      await draining
      expect(await Promise.all([calls, many])).toMatchObject(
        isGood ? [[{ value: 'a' }], [{ value: ['b'] }]] : [[{ reason: awayOf('a') }], [{ reason: AWAY }]],
      )
    }
  })

  it('has nothing to wait for where all was answered', async () => {
    const { producer, puts } = makeProducer()
    await producer.produce(draft('a'))
    await producer.drain()
    expect(puts).toHaveLength(1)
  })
})

describe('produceMany', () => {
  it('nothing is no call', async () => {
    const { producer, puts } = makeProducer()
    expect(await producer.produceMany([])).toEqual([])
    expect(puts).toEqual([])
  })

  it('P10: four batches are on their way at once; ids come back in order, however the answers come', async () => {
    const { clock, idsOfPuts, producer, scene } = makeProducer({ batchMax: 2 })
    scene.put = (messages, call) =>
      new Promise((resolve) => {
        clock.schedule(100 - call, () => resolve(messages.map(() => 'stored')))
      })
    const many = producer.produceMany(drafts(11))
    await clock.settle()
    expect(idsOfPuts()).toEqual([
      ['m0', 'm1'],
      ['m2', 'm3'],
      ['m4', 'm5'],
      ['m6', 'm7'],
    ])
    await clock.advance(1_000)
    expect(await many).toEqual(drafts(11).map(({ message }) => message.id))
    expect(idsOfPuts().slice(4)).toEqual([['m8', 'm9'], ['m10']])
  })

  it('one refused of one is told as it is; of several, with how many', async () => {
    const { memory, producer } = makeProducer()
    await memory.put(['b', 'c'].map((id) => draft(id).message))
    const [b, c] = ['b', 'c'].map((id) => draft(id, { ifExists: 'fail' })) as [Draft, Draft]
    const alone: unknown = await producer.produceMany([b]).catch((error: unknown) => error)
    expect(alone).toBeInstanceOf(UsageError)
    expect(alone).toMatchObject({ code: 'ID_EXISTS', value: 'b' })
    expect(alone).not.toHaveProperty('message', expect.stringContaining('refused'))
    await expect(producer.produceMany([draft('a'), b, c, draft('d')])).rejects.toMatchObject({
      code: 'ID_EXISTS',
      value: 'b',
      message: expect.stringMatching(/"b" exists.*\(2 of 4 refused, the other 2 are stored\.\)$/u) as string,
      cause: { code: 'ID_EXISTS', value: 'b' },
    })
    expect((await memory.count()).states.ready).toBe(4)
  })

  it('the store is away: what waits behind is not sent, and the error is told as it is', async () => {
    const { producer, puts, scene } = makeProducer({ batchMax: 1 })
    scene.put = () => Promise.reject(AWAY)
    await expect(producer.produceMany(drafts(10))).rejects.toBe(AWAY)
    expect(puts).toHaveLength(4)
  })

  it.each([
    [5, /answer \(("m\d", ){4}"m\d"\), the other 1 are stored/u],
    [6, /answer \(("m\d", ){4}"m\d" and others\), the other 1 are stored/u],
  ])('the store is away for some, %i: these are named, up to five in the text', async (failed, list) => {
    const { producer, scene } = makeProducer({ batchMax: 1 })
    scene.put = (_, call) => (call === 1 ? Promise.resolve(['stored']) : Promise.reject(AWAY))
    const ids = drafts(failed + 1).map(({ message }) => message.id)
    await expect(producer.produceMany(drafts(failed + 1))).rejects.toMatchObject({
      name: 'UnavailableError',
      code: 'STORE_PARTIAL',
      value: expect.arrayContaining(ids.slice(1)) as string[],
      cause: AWAY,
      message: expect.stringMatching(list) as string,
    })
  })

  it('a failure that is no outage is told before one that is', async () => {
    const { producer, scene } = makeProducer({ batchMax: 1 })
    scene.put = async (_, call) => {
      if (call === 1) return ['stored']
      throw call === 3 ? BROKEN : AWAY
    }
    await expect(producer.produceMany(drafts(4))).rejects.toBe(BROKEN)
  })
})

describe('P10: bytes on their way', () => {
  it('up to four batches’ worth, then one after the other, in order; a small one does not overtake', async () => {
    const { idsOfPuts, producer, scene } = makeProducer({ batchBytesMax: 100 })
    const doors: (() => void)[] = []
    scene.put = async (messages) => {
      const { opened, open } = gate()
      doors.push(open)
      await opened
      return messages.map(() => 'stored')
    }
    const calls: Promise<string>[] = []
    for (const one of [large('a', 200), large('b', 190), large('c', 101), large('d', 1)]) {
      calls.push(producer.produce(one))
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(idsOfPuts()).toEqual([['a'], ['b']])
    doors[1]?.()
    await calls[1]
    await new Promise((resolve) => setImmediate(resolve))
    expect(idsOfPuts()).toEqual([['a'], ['b'], ['c'], ['d']])
    for (const open of doors) open()
    expect(await Promise.all(calls)).toEqual(['a', 'b', 'c', 'd'])
  })

  it('what a call took is given back when it fails; one that is larger than all waits until it is alone', async () => {
    const { idsOfPuts, producer, scene } = makeProducer({ batchBytesMax: 100 })
    const { opened, open } = gate()
    scene.put = async (messages, call) => {
      await opened
      if (call === 1) throw AWAY
      return messages.map(() => 'stored')
    }
    const calls = ['a', 'b', 'c'].map((id) => producer.produce(large(id, id === 'a' ? 50 : 500)))
    const all = Promise.allSettled(calls)
    await new Promise((resolve) => setImmediate(resolve))
    expect(idsOfPuts()).toEqual([['a']])
    open()
    expect(await all).toMatchObject([{ reason: awayOf('a') }, { value: 'b' }, { value: 'c' }])
    expect(idsOfPuts()).toEqual([['a'], ['b'], ['c']])
  })
})
