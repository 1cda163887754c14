/**
 * Who is woken by what. A change rings after its commit: listeners of this store hear it at once, other processes through
 * the server, each dialect in its own way (`SqlListener`), one ring under way at a time (`bell`).
 *
 * A ring says the earliest moment that it is about, the owner that need not hear it (it gave the message back itself), and
 * the topics. Whenever a listener may have missed one, everybody is called.
 */
import type { WakeUp, Want } from '../../contract/store.ts'
import { WantedTopics } from '../../shared/wanted-topics.ts'
import { Bell, type Ring } from './bell.ts'
import type { Hearing } from './hearing.ts'

/** Hears the rings of other processes, and rings for them. */
export interface SqlListener {
  readonly hearing: Hearing
  start(): void
  ring(ring: Ring): Promise<unknown>
  close(): void
}

export type SqlWakeupsOptions = {
  /** Made once. `heard`: a ring of another process; undefined: anything may have happened. */
  readonly listen: (heard: (ring: Ring | undefined) => void) => SqlListener
  /** Before anybody is called: what was remembered about moments is lowered to this one, or forgotten. */
  readonly lower?: (ring: Ring | undefined) => void
}

type NamedSleeper = { readonly call: (wake: WakeUp) => void; readonly owner: string | undefined }

export class SqlWakeups {
  readonly #options: SqlWakeupsOptions
  readonly #listener: SqlListener
  readonly #bell: Bell
  readonly #wanted = new WantedTopics()
  readonly #sleepers = new Set<NamedSleeper>()

  constructor(options: SqlWakeupsOptions) {
    this.#options = options
    this.#listener = options.listen((ring) => this.#wake(ring))
    this.#bell = new Bell((ring) => this.#listener.ring(ring))
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

  #wake(ring: Ring | undefined): void {
    this.#options.lower?.(ring)
    if (ring === undefined) {
      for (const { call } of this.#sleepers) call({ kind: 'controls' })
      return
    }
    const message = [ring.giver, ...ring.topics].join('\n')
    for (const { call, owner } of this.#sleepers) {
      const wake = this.#wanted.hear(owner, message)
      if (wake !== undefined) call(wake)
    }
  }
}

/** The earliest moment, the giver, and the topics, each in a line. */
export function ringText({ at, giver, topics }: Ring): string {
  return [at === undefined ? '' : String(at), giver, ...topics].join('\n')
}

export function parseRing(text: string): Ring {
  const [at = '', giver = '', ...topics] = text.split('\n')
  return { at: at === '' ? undefined : Number(at), giver, topics }
}
