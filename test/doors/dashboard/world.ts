/** A server with its dashboard as users get it, from dist/, on a memory store of its own. */
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { serve, ServeOptions } from '../../../src/doors/http/index.ts'
import type { Punctual, Store } from '../../../src/index.ts'
import { freePort } from '../../free-port.ts'

const DIST = resolve(import.meta.dirname, '../../../dist')

type Library = { readonly Punctual: typeof Punctual }
type Insides = { readonly insidesOf: (queue: Punctual) => { readonly open: () => Promise<Store> } }
type Door = { readonly serve: typeof serve }

async function load<T>(file: string): Promise<T> {
  return (await import(pathToFileURL(join(DIST, file)).href)) as T
}

export type World = {
  readonly queue: Punctual
  readonly url: string
  /** The pages of the queue. */
  readonly ui: string
  /** Stores what `produce` refuses, and older versions did not. */
  readonly plant: (named: readonly { readonly id: string; readonly topic: string }[]) => Promise<void>
  readonly stopServer: () => Promise<void>
  /** Again on the same port. */
  readonly startServer: () => Promise<void>
  readonly close: () => Promise<void>
}

export const QUEUE = 'orders'

export async function openWorld(
  options: Partial<ServeOptions> & { store?: string | Store } = {},
): Promise<World> {
  const { store = 'memory:', ...serveOptions } = options
  const { Punctual: Queue } = await load<Library>('index.js')
  const { serve: open } = await load<Door>('doors/http/index.js')
  const queue = new Queue({ store, queue: QUEUE, logger: false })
  const make = (): ReturnType<Door['serve']> => open({ queues: [queue], logger: false, ...serveOptions })
  let server = make()
  // One that stays free while the server is away.
  const { port } = await server.listen({ port: await freePort() })
  const url = `http://127.0.0.1:${port}${serveOptions.basePath ?? ''}`
  return {
    queue,
    url,
    ui: `${url}/ui/${QUEUE}`,
    plant: async (named) => {
      const { insidesOf } = await load<Insides>('queue/insides.js')
      const rest = { body: '1', meta: '', priority: 1, when: { delayMs: HOUR }, ifExists: 'keep' } as const
      await (await insidesOf(queue).open()).put(named.map((one) => ({ ...one, ...rest })))
    },
    stopServer: () => server.close(),
    startServer: async () => {
      server = make()
      await server.listen({ port })
    },
    close: async () => {
      await server.close()
      await queue.stop()
    },
  }
}

const HOUR = 3_600_000

/** Some of everything: waiting, overdue, dead, paused, limited, scheduled. */
export async function fill(queue: Punctual): Promise<void> {
  const now = Date.now()
  await queue.produceMany(
    Array.from({ length: 300 }, (_, i) => ({
      topic: ['mail.send', 'order.close', 'invoice.remind'][i % 3] ?? '',
      id: `m-${String(i).padStart(3, '0')}`,
      payload: { to: `customer${i}@acme.example`, number: i },
      at: i % 10 === 1 ? now + 9 * HOUR + i : now + HOUR + i * 300_000,
      ...(i % 4 === 0 ? { tag: `order-${i % 20}` } : {}),
      ...(i % 30 === 0 ? { key: `customer-${i % 60}` } : {}),
    })),
  )
  queue.handle('flaky', () => Promise.reject(new Error('connect ETIMEDOUT 10.0.0.7:25')), {
    retry: { limit: 0 },
  })
  queue.handle('quick', () => Promise.resolve())
  await queue.start()
  await queue.produceMany([
    ...Array.from({ length: 3 }, (_, i) => ({ topic: 'flaky', id: `dead-${i}`, payload: { i }, delay: 0 })),
    ...Array.from({ length: 20 }, (_, i) => ({ topic: 'quick', payload: { i }, delay: i })),
    { topic: 'nobody', id: 'lonely', payload: { why: 'nobody handles it' }, delay: 0 },
  ])
  await queue.schedules.set('digest', { topic: 'mail.digest', cron: '0 9 * * *', zone: 'Europe/Berlin' })
  await queue.schedules.set('sweep', { topic: 'order.sweep', every: '1h' })
  await queue.pause('order.close')
  await queue.limit('invoice.remind', { rate: '100/1m', concurrency: 4 })
}

export async function fillWith(queue: Punctual, count: number): Promise<void> {
  const now = Date.now()
  const size = 10_000
  for (let from = 0; from < count; from += size) {
    await queue.produceMany(
      Array.from({ length: Math.min(size, count - from) }, (_, j) => {
        const i = from + j
        return {
          topic: `topic-${i % 5}`,
          id: `m-${String(i).padStart(3, '0')}`,
          payload: { number: i },
          at: now + HOUR + ((i * 7_919) % count) * (i % 7 === 0 ? 8_000 : 86),
        }
      }),
    )
  }
}
