/** What the store has confirmed, told to all that want to know: listeners, the figures of the store, the log. */
import { isControl } from '../../core/control.ts'
import { assertNever } from '../../core/errors.ts'
import type { Outcome } from '../../core/machines/outcome.ts'
import type { Settlement } from '../../store/contract/store.ts'
import type { Events } from './events.ts'
import type { Figures } from './figures.ts'
import type { Notices } from './notices.ts'

/** What is told of a message; more that it may have is not. */
export type SettledMessage = { readonly id: string; readonly topic: string; readonly attempt: number }

export type AttemptTimes = {
  readonly isStarted: boolean
  readonly latenessMs: number
  readonly durationMs: number
}

export type ReportsParts = {
  readonly events: Events
  readonly figures: Figures
  readonly notices: Notices
}

export class Reports {
  readonly #parts: ReportsParts

  constructor(parts: ReportsParts) {
    this.#parts = parts
  }

  /** It starts late. In a backlog every message does: the event is made only if somebody hears it. */
  late({ id, topic, attempt }: SettledMessage, latenessMs: number): void {
    const { events } = this.#parts
    if (events.hears('late')) events.emit('late', { id, topic, attempt, latenessMs })
    else if (!isControl(topic)) events.unheard('late')
  }

  /** It was to be cancelled, and is gone. */
  cancelled({ id, topic, attempt }: SettledMessage): void {
    this.#parts.events.emit('cancelled', { id, topic, attempt })
  }

  /** It is not tried again: another message of its id has taken its place. */
  succeeded({ kind }: Settlement, { topic }: SettledMessage, times: AttemptTimes | undefined): void {
    if (kind !== 'release' && kind !== 'again')
      this.#parts.figures.add(topic, 'failed', times?.latenessMs, times?.durationMs ?? 0)
  }

  /** `times`: unknown of an attempt whose lease lapsed elsewhere. */
  settled(outcome: Outcome, { id, topic, attempt }: SettledMessage, times: AttemptTimes | undefined): void {
    if (isControl(topic)) return
    const { events, figures, notices } = this.#parts
    const latenessMs = times?.isStarted === true ? times.latenessMs : undefined
    const durationMs = times?.durationMs ?? 0
    switch (outcome.kind) {
      case 'ack':
        figures.add(topic, 'completed', latenessMs, durationMs)
        if (events.hears('completed'))
          events.emit('completed', {
            id,
            topic,
            attempt,
            latenessMs: latenessMs ?? 0,
            durationMs,
          })
        return
      case 'skip':
        figures.add(topic, 'skipped', undefined, 0)
        events.emit('skipped', { id, topic, attempt, latenessMs: times?.latenessMs ?? 0 })
        return
      case 'again':
        if ('delayMs' in outcome.when)
          events.emit('snoozed', { id, topic, attempt, delayMs: outcome.when.delayMs })
        else if (outcome.isMoved === true)
          events.emit('postponed', { id, topic, attempt, until: outcome.when.at })
        return
      case 'retry':
      case 'lapse': {
        const delayMs = outcome.kind === 'retry' ? outcome.delayMs : 0
        const { error } = outcome
        figures.add(topic, 'failed', latenessMs, durationMs)
        notices.retried({ id, topic, attempt, error }, delayMs)
        events.emit('retrying', { id, topic, attempt, delayMs, error })
        return
      }
      case 'dead': {
        const { error, reason } = outcome
        figures.add(topic, 'dead', latenessMs, durationMs)
        notices.dead({ id, topic, attempt, error }, reason)
        events.emit('dead', { id, topic, attempt, reason, error })
        return
      }
      case 'release':
        return
      default:
        assertNever(outcome)
    }
  }
}
