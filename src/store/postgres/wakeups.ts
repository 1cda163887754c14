/**
 * Who is woken by what. A change rings after its commit: listeners of this store hear it at once, other processes through
 * the server (`link/listener`), one ring under way at a time (`sql/bell`).
 *
 * A ring says the earliest moment that it is about, the owner that need not hear it (it gave the message back itself), and
 * the topics. After every (re)connect of the listener everybody is called.
 */
import type { WakeUp, Want } from '../contract/store.ts'
import { WantedTopics } from '../shared/wanted-topics.ts'
import { Bell, type Ring } from '../sql/bell.ts'
import type { Floors } from '../sql/floors.ts'
import { callText } from './calls.ts'
import type { PostgresLink } from './link/postgres-link.ts'
import { PostgresListener, type Hearing, type ListenerOptions } from './link/listener.ts'

export type PostgresWakeupsOptions = Omit<ListenerOptions, 'heardRing' | 'notify'> & {
  readonly schema: string
  readonly floors: Floors
  /** For rings of a store that listens to nothing. */
  readonly writes: PostgresLink
}

type NamedSleeper = { readonly call: (wake: WakeUp) => void; readonly owner: string | undefined }

export class PostgresWakeups {
  readonly #options: PostgresWakeupsOptions
  readonly #listener: PostgresListener
  readonly #bell: Bell
  readonly #wanted = new WantedTopics()
  readonly #sleepers = new Set<NamedSleeper>()

  constructor(options: PostgresWakeupsOptions) {
    this.#options = options
    this.#listener = new PostgresListener({
      ...options,
      heardRing: (payload) => this.#hear(payload),
      notify: (channel) => options.writes.call({ text: 'select pg_notify($1, $2)', values: [channel, ''] }),
    })
    this.#bell = new Bell((ring) => this.#send(ring))
  }

  get hearing(): Hearing {
    return this.#listener.hearing
  }

  note(owner: string, wants: readonly Want[]): void {
    this.#wanted.note(owner, wants)
  }

  forget(owner: string): void {
    this.#wanted.forget(owner)
  }

  /** Each subscription counts on its own, even of the same function. */
  listen(call: (wake: WakeUp) => void, owner: string | undefined): () => void {
    const sleeper: NamedSleeper = { call, owner }
    this.#sleepers.add(sleeper)
    this.#listener.start()
    return () => void this.#sleepers.delete(sleeper)
  }

  ring(ring: Ring): void {
    this.#wake(ring)
    this.#bell.ring(ring)
  }

  close(): void {
    this.#sleepers.clear()
    this.#listener.close()
  }

  #hear(payload: string | undefined): void {
    if (payload === undefined) {
      this.#options.floors.reset()
      for (const { call } of this.#sleepers) call({ kind: 'controls' })
      return
    }
    const [at = '', giver = '', ...topics] = payload.split('\n')
    this.#wake({ at: at === '' ? undefined : Number(at), giver, topics })
  }

  #wake({ at, giver, topics }: Ring): void {
    this.#options.floors.lower(at, topics)
    const message = [giver, ...topics].join('\n')
    for (const { call, owner } of this.#sleepers) {
      const wake = this.#wanted.hear(owner, message)
      if (wake !== undefined) call(wake)
    }
  }

  #send({ at, giver, topics }: Ring): Promise<unknown> {
    const { channel, schema, writes } = this.#options
    const link = this.#listener.link ?? writes
    return link.call({
      text: callText(schema, 'ring_1', 4),
      values: [channel, at ?? null, giver, topics],
    })
  }
}
