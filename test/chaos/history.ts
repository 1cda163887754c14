/** Logs written by hand, so that the auditor can be handed what must never happen. */
import type { FaultLine, IfExists, Line } from '../../chaos/lines.ts'

const WORKER = 'worker-2.1'
const PRODUCER = 'producer-2.1'

type Times = { readonly at: number }

/** One id, `x`, and those who have to do with it; each call adds a line. */
export class History {
  readonly lines: Line[] = []

  produced(
    call: number,
    {
      at,
      ...more
    }: Times & { delay?: number; ifExists?: IfExists; limit?: number; ttl?: number; isCalm?: boolean },
  ): this {
    return this.#add({
      what: 'produce',
      who: PRODUCER,
      at,
      id: 'x',
      call,
      delay: 0,
      ifExists: 'keep',
      does: 'quick',
      limit: 3,
      ...more,
    })
  }

  promised(call: number, { at }: Times): this {
    return this.#add({ what: 'promised', who: PRODUCER, at, id: 'x', call })
  }

  refused(call: number, { at, code }: Times & { code: string }): this {
    return this.#add({ what: 'refused', who: PRODUCER, at, id: 'x', call, code })
  }

  unknown(call: number, { at }: Times): this {
    return this.#add({ what: 'unknown', who: PRODUCER, at, id: 'x', call })
  }

  asked(what: 'cancel' | 'reschedule', call: number, { at, delay = 0 }: Times & { delay?: number }): this {
    return this.#add({ what, who: PRODUCER, at, id: 'x', call, delay })
  }

  answered(call: number, answer: string, { at }: Times): this {
    return this.#add({ what: 'answered', who: PRODUCER, at, id: 'x', call, answer })
  }

  started(
    attempt: number,
    { at, dueAt = at, by = WORKER, g = 1 }: Times & { dueAt?: number; by?: string; g?: number },
  ): this {
    return this.#add({ what: 'start', who: by, at, id: 'x', g, attempt, topic: 't', dueAt })
  }

  /** The topic of everything that starts here is `t`. */
  steered(what: 'paused' | 'resuming', { at, topic = 't' }: Times & { topic?: string }): this {
    return this.#add({ what, who: 'bookkeeper-1.1', at, topic })
  }

  ended(
    attempt: number,
    how: 'done' | 'threw' | 'again' | 'gave up' | 'dies',
    { at, by = WORKER, g = 1 }: Times & { by?: string; g?: number },
  ): this {
    return this.#add({ what: 'end', who: by, at, id: 'x', g, attempt, how })
  }

  heard(
    what: 'completed' | 'lost',
    attempt: number,
    { at, by = WORKER, g = 1 }: Times & { by?: string; g?: number },
  ): this {
    return this.#add({ what, who: by, at, id: 'x', g, attempt })
  }

  found(
    what: 'buried' | 'left',
    { at, attempt = 1, reason = 'failed' }: Times & { attempt?: number; reason?: string },
  ): this {
    const state = what === 'buried' ? 'dead' : 'ready'
    return this.#add({ what, who: 'bookkeeper-1.1', at, id: 'x', g: 1, attempt, reason, state })
  }

  /** A whole life without trouble: produced, run, completed. */
  ran({ at, g = 1 }: Times & { g?: number }): this {
    return this.produced(g, { at })
      .promised(g, { at: at + 1 })
      .started(1, { at: at + 2, g })
      .ended(1, 'done', { at: at + 3, g })
      .heard('completed', 1, { at: at + 4, g })
  }

  fault(kind: string, { at, until, ...more }: Times & Pick<FaultLine, 'until'> & Partial<FaultLine>): this {
    return this.#add({
      what: 'fault',
      who: 'faults',
      at,
      until,
      kind,
      target: WORKER,
      isForAll: false,
      ...more,
    })
  }

  exited(at: number, how: { code?: number; signal?: string; isKilled: boolean; process?: string }): this {
    const { code = null, signal = null, isKilled, process = WORKER } = how
    return this.#add({ what: 'exited', who: 'faults', at, process, code, signal, isKilled })
  }

  stopped(at: number, durationMs: number): this {
    return this.#add({ what: 'stopping', who: WORKER, at: at - durationMs }).#add({
      what: 'stopped',
      who: WORKER,
      at,
      abandoned: 0,
      errors: [],
      durationMs,
    })
  }

  examined(problems: readonly string[]): this {
    return this.#add({ what: 'doctor', who: 'bookkeeper-1.1', at: 900, problems })
  }

  #add(line: Line): this {
    this.lines.push(line)
    return this
  }
}
