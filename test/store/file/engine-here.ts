/** A life of messages without keys, on the engine as its thread has it: every statement is counted. */
import { vi } from 'vitest'
import { Database } from '../../../src/store/file/database/database.ts'
import type { ClaimReply, Lease, NewMessage, Settlement } from '../../../src/store/contract/store.ts'
import { FileEngine } from '../../../src/store/file/on-thread.ts'
import type { ThreadCall } from '../../../src/store/thread/protocol.ts'
import { message } from '../../../src/testing/conformance/stand.ts'

export type Asked = { readonly sql: string; readonly rows: number }

/** All statements that `act` asks, with how many rows each brought or changed. */
export function statementsOf(act: () => void): Asked[] {
  const spies = (['run', 'get', 'all'] as const).map((name) => vi.spyOn(Database.prototype, name))
  try {
    act()
    return spies.flatMap(({ mock }) =>
      mock.calls.map(([sql], at) => ({ sql, rows: rowsIn(mock.results[at]?.value) })),
    )
  } finally {
    for (const spy of spies) spy.mockRestore()
  }
}

function rowsIn(answer: unknown): number {
  if (Array.isArray(answer)) return answer.length
  if (typeof answer === 'number') return answer
  return answer === undefined ? 0 : 1
}

/** The engine without its thread: one call, one transaction. */
export class EngineHere {
  readonly #engine: FileEngine
  now = Date.UTC(2030, 0, 1)

  constructor(directory: string) {
    this.#engine = new FileEngine({ directory, sync: 'off' })
    this.#engine.open()
  }

  call(verb: string, ...args: readonly unknown[]): unknown {
    const call: ThreadCall = { n: 1, queue: 'orders', verb, args, entries: 1, bytes: 0, now: this.now }
    const look = this.#engine.look(call)
    if (look.kind === 'value') return look.value
    if (look.kind !== 'write') throw new Error(`the store is ${look.kind}`)
    this.#engine.begin()
    const written = this.#engine.write([call])
    if (written.kind !== 'done') throw new Error('the disk is full')
    return written.values[0]
  }

  put(messages: readonly NewMessage[]): void {
    this.call('put', messages)
  }

  claim(limit = 100, topics: readonly string[] = ['order.close', 'other']): ClaimReply {
    const wants = topics.map((topic) => ({ topic, limit }))
    const base = { owner: 'worker', limit, leaseMs: 30_000, leadMs: 0, bytesMax: 2 ** 30 }
    return this.call('claim', { from: 'due', wants, ...base }) as ClaimReply
  }

  settle(leases: readonly Lease[], how: (lease: Lease) => Settlement): void {
    if (leases.length > 0) this.call('settle', leases.map(how))
  }

  close(): void {
    this.#engine.close()
  }
}

const ENDS: readonly ((lease: Lease) => Settlement)[] = [
  (lease) => ({ ...lease, kind: 'ack' }),
  (lease) => ({ ...lease, kind: 'retry', delayMs: 5, error: 'failed' }),
  (lease) => ({ ...lease, kind: 'release' }),
  (lease) => ({ ...lease, kind: 'lapse', error: 'lapsed' }),
  (lease) => ({ ...lease, kind: 'again', when: { delayMs: 5 } }),
  (lease) => ({ ...lease, kind: 'dead', reason: 'enough', error: 'failed' }),
  (lease) => ({ ...lease, kind: 'ack', remember: { ms: 60_000, outcome: 'completed', result: '1' } }),
]

/** One of everything; what is left at the end are messages in each state. */
export function liveUnkeyed(engine: EngineHere): void {
  const many = Array.from({ length: 40 }, (_, i) => message(`m${i}`, { when: { delayMs: i % 3 } }))
  engine.put([
    ...many,
    message('tagged', { tags: ['a', 'b'] }),
    message('large', { body: 'x'.repeat(3_000) }),
  ])
  engine.put([message('m1', { ifExists: 'replace' }), message('o', { topic: 'other' }), message('m2')])
  engine.now += 10
  let at = 0
  const { leases } = engine.claim(20)
  engine.put([message(leases[1]?.id ?? '', { ifExists: 'replace', tags: ['c'] })])
  engine.settle(leases, (lease) => (ENDS[(at += 1) % ENDS.length] as (typeof ENDS)[number])(lease))
  engine.call('remove', ['m30', 'm31'], 'waiting')
  engine.call('reschedule', [{ id: 'm32', when: { delayMs: 60_000 } }])
  engine.call('revive', ['m5', 'm6', 'm7', 'm8', 'm9', 'm10', 'm11', 'm12'])
  engine.claim(5)
  engine.now += 40_000
  engine.call('claim', { from: 'lapsed', owner: 'other', limit: 3, leaseMs: 30_000 })
  for (const verb of ['workers', 'controls']) engine.call(verb)
  engine.call('inspect', { state: 'ready', limit: 10 })
  engine.claim(0)
}
