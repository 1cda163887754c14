import { describe, expectTypeOf, it } from 'vitest'
import { Punctual, type Handlers, type Received, type Sendable } from '../../src/index.ts'

type Tree = { readonly name: string; readonly planted: Date; readonly branches: readonly Tree[] }
type PlainTree = { name: string; branches: PlainTree[] }
type OrderId = string & { readonly brand: 'order' }
interface Order {
  id: OrderId
  total?: number
  note: string | undefined
}
class Stamp {
  readonly by = 'ada'
  toJSON(): { on: Date } {
    return { on: new Date() }
  }
}

describe('a handler receives what JSON makes of the payload', () => {
  it('a type that JSON leaves alone is the same type', () => {
    expectTypeOf<Received<Order>>().toEqualTypeOf<Order>()
    expectTypeOf<Received<PlainTree>>().toEqualTypeOf<PlainTree>()
    expectTypeOf<Received<'a' | 5 | null | undefined>>().toEqualTypeOf<'a' | 5 | null | undefined>()
    expectTypeOf<Received<Record<string, number[]>>>().toEqualTypeOf<Record<string, number[]>>()
    expectTypeOf<Received<unknown>>().toEqualTypeOf<unknown>()
    expectTypeOf<Received<{ x: unknown }>>().toEqualTypeOf<{ x: unknown }>()
  })

  it('what has toJSON is what that returns, at every depth', () => {
    expectTypeOf<Received<Date>>().toEqualTypeOf<string>()
    expectTypeOf<Received<{ at: Date | null; link?: URL }>>().toEqualTypeOf<{
      at: string | null
      link?: string
    }>()
    expectTypeOf<Received<{ days: [Date, number]; all: readonly Date[] }>>().toEqualTypeOf<{
      days: [string, number]
      all: readonly string[]
    }>()
    expectTypeOf<Received<Stamp>>().toEqualTypeOf<{ on: string }>()
    expectTypeOf<Received<Tree>['branches'][0]['planted']>().toEqualTypeOf<string>()
  })

  it('a hole in a list is null', () => {
    expectTypeOf<Received<(number | undefined)[]>>().toEqualTypeOf<(number | null)[]>()
  })

  it('in handle, and in a module of handlers', () => {
    type Topics = { letter: { on: Date; to: string } }
    const queue = new Punctual<Topics>('memory:')
    void queue.produce('letter', { on: new Date(), to: 'ada' })
    queue.handle('letter', ({ payload }) => expectTypeOf(payload).toEqualTypeOf<{ on: string; to: string }>())
    // @ts-expect-error: a handler that believes it gets a Date
    queue.handle('letter', ({ payload }) => payload.on.getTime())
    const handlers: Handlers<Topics> = {
      letter: ({ payload, followUp }) => {
        expectTypeOf(payload.on).toEqualTypeOf<string>()
        return followUp('letter', { on: new Date(), to: payload.to })
      },
    }
    expectTypeOf(handlers).toExtend<object>()
  })
})

describe('what JSON cannot carry is refused by the compiler', () => {
  it('where it is produced', () => {
    type Topics = {
      map: { seats: Map<string, number> }
      set: Set<string>
      callback: { done: () => void }
      big: { amount: bigint }
      deep: { rows: { cells: { value: symbol }[] }[] }
      fine: { when: Date; list: readonly (string | undefined)[]; tree: PlainTree; any: unknown }
    }
    const queue = new Punctual<Topics>('memory:')
    // @ts-expect-error: a Map would arrive as {}
    void queue.produce('map', { seats: new Map([['1A', 1]]) })
    // @ts-expect-error: a Set would arrive as {}
    void queue.produce('set', new Set(['x']))
    // @ts-expect-error: a function would be left out
    void queue.produce('callback', { done: () => undefined })
    // @ts-expect-error: a bigint cannot be written
    void queue.produce('big', { amount: 5n })
    // @ts-expect-error: at any depth
    void queue.produce('deep', { rows: [{ cells: [{ value: Symbol('x') }] }] })
    // @ts-expect-error: in produceMany too
    void queue.produceMany([{ topic: 'map', payload: { seats: new Map([['1A', 1]]) } }])
    // @ts-expect-error: and in a schedule
    void queue.schedules.set('daily', { topic: 'set', every: '1d', payload: new Set(['x']) })
    queue.handle('fine', async ({ followUp }) => {
      // @ts-expect-error: and in a follow-up
      await followUp('map', { seats: new Map([['1A', 1]]) })
    })
    void queue.produce('fine', {
      when: new Date(),
      list: ['x', undefined],
      tree: { name: 'oak', branches: [] },
      any: new Map(),
    })
    expectTypeOf<Sendable<Order>>().toEqualTypeOf<Order>()
    expectTypeOf<Sendable<Tree>>().toEqualTypeOf<Tree>()
    expectTypeOf<Sendable<Stamp>>().toEqualTypeOf<Stamp>()
  })
})

describe('a topic that needs a payload gets one', () => {
  type Topics = { 'order.close': { orderId: number }; tick: undefined; maybe: { n: number } | undefined }
  const queue = new Punctual<Topics>('memory:')

  it('in produceMany', () => {
    void queue.produceMany([{ topic: 'tick' }, { topic: 'maybe' }, { topic: 'maybe', payload: { n: 1 } }])
    // @ts-expect-error: this topic needs a payload
    void queue.produceMany([{ topic: 'order.close' }])
    // @ts-expect-error: this topic needs a payload, also beside others
    void queue.produceMany([{ topic: 'tick' }, { topic: 'order.close', delay: '1m' }])
    void new Punctual('memory:').produceMany([{ topic: 'anything' }, { topic: 'else', payload: 5 }])
  })

  it('in a schedule', () => {
    void queue.schedules.set('tick', { topic: 'tick', every: '1m' })
    void queue.schedules.set('close', { topic: 'order.close', every: '1m', payload: { orderId: 1 } })
    // @ts-expect-error: this topic needs a payload
    void queue.schedules.set('close', { topic: 'order.close', every: '1m' })
    void queue.schedules.nextOccurrences({ topic: 'order.close', every: '1m' }) // Only asks when.
  })
})
