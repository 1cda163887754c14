/** What the store has confirmed, told to all that want to know: listeners, the figures of the store, the log. */
import { isControl } from '../../core/control.ts'
import { assertNever } from '../../core/errors.ts'
import type { Outcome } from '../../core/machines/outcome.ts'
import type { Settlement } from '../../store/contract/store.ts'
import { aboutMessage, type ToldMessage } from './about.ts'
import type { Events } from './events.ts'
import type { Figures } from './figures.ts'
import type { Notices } from './notices.ts'

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
  late(message: ToldMessage, latenessMs: number): void {
    const { events } = this.#parts
    if (events.hears('late')) events.emit('late', { ...aboutMessage(message), latenessMs })
    else if (!isControl(message.topic)) events.unheard('late')
  }

  /** It was to be cancelled, and is gone. */
  cancelled(message: ToldMessage): void {
    this.#parts.events.emit('cancelled', aboutMessage(message))
  }

  /** It is not tried again: another message of its id has taken its place. */
  succeeded({ kind }: Settlement, { topic }: ToldMessage, times: AttemptTimes | undefined): void {
    if (kind !== 'release' && kind !== 'again')
      this.#parts.figures.add(topic, 'failed', times?.latenessMs, times?.durationMs ?? 0)
  }

  /** `times`: unknown of an attempt whose lease lapsed elsewhere. */
  settled(outcome: Outcome, message: ToldMessage, times: AttemptTimes | undefined): void {
    const { id, topic, attempt } = message
    if (isControl(topic)) return
    const { events, figures, notices } = this.#parts
    const latenessMs = times?.isStarted === true ? times.latenessMs : undefined
    const durationMs = times?.durationMs ?? 0
    switch (outcome.kind) {
      case 'ack':
        figures.add(topic, 'completed', latenessMs, durationMs)
        if (events.hears('completed'))
          events.emit('completed', {
            ...aboutMessage(message),
            latenessMs: latenessMs ?? 0,
            durationMs,
          })
        return
      case 'skip':
        figures.add(topic, 'skipped', undefined, 0)
        events.emit('skipped', { ...aboutMessage(message), latenessMs: times?.latenessMs ?? 0 })
        return
      case 'again':
        if ('delayMs' in outcome.when)
          events.emit('snoozed', { ...aboutMessage(message), delayMs: outcome.when.delayMs })
        else if (outcome.isMoved === true)
          events.emit('postponed', { ...aboutMessage(message), until: outcome.when.at })
        return
      case 'retry':
      case 'lapse': {
        const delayMs = outcome.kind === 'retry' ? outcome.delayMs : 0
        const { error } = outcome
        figures.add(topic, 'failed', latenessMs, durationMs)
        notices.retried({ id, topic, attempt, error }, delayMs)
        events.emit('retrying', { ...aboutMessage(message), delayMs, error })
        return
      }
      case 'dead': {
        const { error, reason } = outcome
        figures.add(topic, 'dead', latenessMs, durationMs)
        notices.dead({ id, topic, attempt, error }, reason)
        events.emit('dead', { ...aboutMessage(message), reason, error })
        return
      }
      case 'release':
        return
      default:
        assertNever(outcome)
    }
  }
}
