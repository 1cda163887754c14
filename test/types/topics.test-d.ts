import { describe, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { Punctual, type StopReport } from '../../src/index.ts'

type Topics = { 'order.close': { orderId: number }; tick: undefined; 'mail.send': { to: string } | null }
interface Declared {
  ride: { stars: number }
}

describe('the type of a payload follows from its topic', () => {
  it('given as a type', () => {
    const queue = new Punctual<Topics>('memory:')
    void queue.produce('order.close', { orderId: 42 }, { delay: '30m' })
    void queue.produce('tick')
    void queue.produce('tick', undefined, { at: new Date() })
    void queue.produce('mail.send', null)
    // @ts-expect-error: a payload of another form
    void queue.produce('order.close', { orderId: '42' })
    // @ts-expect-error: no such topic
    void queue.produce('order.open', { orderId: 42 })
    // @ts-expect-error: this topic needs a payload
    void queue.produce('order.close')
    // @ts-expect-error: not both
    void queue.produce('tick', undefined, { delay: 5, at: new Date() })
    // @ts-expect-error: no duration
    void queue.produce('tick', undefined, { delay: '5 minutes' })
    // @ts-expect-error: no such option
    void queue.produce('tick', undefined, { delya: 5 })

    queue.handle('order.close', ({ payload, id, attempt, latenessMs, dueAt, signal, extend }) => {
      expectTypeOf(payload).toEqualTypeOf<{ orderId: number }>()
      expectTypeOf(id).toEqualTypeOf<string>()
      expectTypeOf([attempt, latenessMs, dueAt]).toEqualTypeOf<number[]>()
      expectTypeOf(signal).toEqualTypeOf<AbortSignal>()
      expectTypeOf(extend).returns.resolves.toEqualTypeOf<boolean>()
    })
    // @ts-expect-error: no such topic
    queue.handle('order.open', () => {})
  })

  it('in a follow-up, as in produce', () => {
    const queue = new Punctual<Topics>('memory:')
    queue.handle('tick', async ({ followUp }) => {
      expectTypeOf(followUp('tick')).resolves.toEqualTypeOf<string>()
      await followUp('mail.send', { to: 'x' }, { delay: '2d', ifExists: 'replace' })
      // @ts-expect-error: a payload of another form
      await followUp('order.close', { orderId: '42' })
      // @ts-expect-error: this topic needs a payload
      await followUp('order.close')
      // @ts-expect-error: no such topic
      await followUp('order.open', { orderId: 42 })
      // @ts-expect-error: whether the id exists is known only when the attempt completes
      await followUp('tick', undefined, { ifExists: 'fail' })
    })
  })

  it('in produceMany, entry by entry', () => {
    const queue = new Punctual<Topics>('memory:')
    void queue.produceMany([
      { topic: 'order.close', payload: { orderId: 1 }, delay: '1m' },
      { topic: 'mail.send', payload: { to: 'x' }, at: 5 },
      { topic: 'tick' },
    ])
    // @ts-expect-error: the payload of another topic
    void queue.produceMany([{ topic: 'order.close', payload: { to: 'x' } }])
  })

  it('given as an interface', () => {
    const queue = new Punctual<Declared>('memory:')
    queue.handle('ride', ({ payload }) => expectTypeOf(payload).toEqualTypeOf<{ stars: number }>())
    // @ts-expect-error: a payload of another form
    void queue.produce('ride', { stars: 'five' })
  })

  it('given as schemas: the input goes in, the output comes out', () => {
    const queue = new Punctual({
      store: 'memory:',
      topics: { letter: z.object({ on: z.coerce.date<string>(), copies: z.number().default(1) }) },
    })
    void queue.produce('letter', { on: '2030-01-01' })
    // @ts-expect-error: not what the schema takes
    void queue.produce('letter', { copies: 'two' })
    // @ts-expect-error: no such topic
    void queue.produce('parcel', {})
    queue.handle('letter', ({ payload }) =>
      expectTypeOf(payload).toEqualTypeOf<{ on: Date; copies: number }>(),
    )
  })

  it('without either, anything goes in and unknown comes out', () => {
    const queue = new Punctual('memory:')
    void queue.produce('anything', { at: 'all' })
    void queue.produce('nothing')
    queue.handle('anything', ({ payload }) => expectTypeOf(payload).toBeUnknown())
  })

  it('events and results are typed', () => {
    const queue = new Punctual<Topics>('memory:')
    queue.on('completed', (event) => expectTypeOf(event.durationMs).toBeNumber())
    queue.on('dead', (event) => expectTypeOf(event.reason).toBeString())
    queue.on('error', (error) => expectTypeOf(error).toEqualTypeOf<Error>())
    // @ts-expect-error: no such event
    queue.on('finished', () => {})
    expectTypeOf(queue.cancel('x')).resolves.toEqualTypeOf<
      'cancelled' | 'running' | 'cancelling' | 'missing'
    >()
    expectTypeOf(queue.stop()).resolves.toEqualTypeOf<StopReport>()
    expectTypeOf(queue).toExtend<AsyncDisposable>()
  })
})

describe('a mistake fails where it was made', () => {
  type Mails = { mail: { to: string }; plain: undefined }
  const queue = new Punctual<Mails>('memory:')

  it('a filter that names nothing means nothing, never everything', () => {
    // @ts-expect-error: neither ids nor a state, topic, tag or key
    void (() => queue.cancel({}))
    // @ts-expect-error: a text alone is no filter
    void (() => queue.purge({ text: 'ada' }))
    void (() => queue.cancel({ topic: 'mail', text: 'ada' }))
    void (() => queue.revive({ key: 'customer-7' }))
  })

  it('a payload that is missing, and a schedule with two rhythms or none', () => {
    // @ts-expect-error: no payload
    void (() => queue.produce('mail'))
    // @ts-expect-error: no payload
    void (() => queue.produceMany([{ topic: 'mail', delay: '1s' }]))
    // @ts-expect-error: no payload
    void (() => queue.schedules.set('a', { topic: 'mail', every: '1s' }))
    // @ts-expect-error: give either cron or every
    void (() => queue.schedules.set('a', { topic: 'plain', cron: '* * * * *', every: '1s' }))
    // @ts-expect-error: neither cron nor every
    void (() => queue.schedules.set('a', { topic: 'plain' }))
    void (() => queue.schedules.set('a', { topic: 'plain', every: '1s' }))
  })
})
