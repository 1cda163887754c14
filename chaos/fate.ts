/** What became of a message that was promised. */
import { NEVER, type Identity, type Message, type Move } from './stories.ts'

export type Fate =
  | 'completed'
  /** Its handler returned; the answer of the store was lost with its worker or on the way. */
  | 'run to its end'
  | 'dead'
  | 'cancelled'
  | 'replaced'
  /** By a call that got no answer. */
  | 'perhaps cancelled or replaced'
  /** `keep` resolves without storing anything when the id is taken, or may be. */
  | 'kept for another'
  | 'still there'
  | 'lost'

export function fateOf(message: Message, identity: Identity): Fate {
  const { ends, events, found } = message
  if (events.some(({ what }) => what === 'completed')) return 'completed'
  if (found.some(({ what }) => what === 'buried')) return 'dead'
  if (found.length > 0) return 'still there'
  if (ends.some(({ how }) => how === 'done')) return 'run to its end'
  return (
    takenBack(message, identity) ?? (wasPerhapsDuplicate(message, identity) ? 'kept for another' : 'lost')
  )
}

function takenBack(message: Message, { messages, moves }: Identity): Fate | undefined {
  const { asked } = message
  const cancels = moves.filter(
    (move) =>
      move.asked.what === 'cancel' &&
      (mayHaveWorked(move, 'cancelled') || tookSuccessor(move, message)) &&
      mayActAfter(move, asked.call),
  )
  const replacements = messages.filter(
    (other) =>
      other.asked.ifExists === 'replace' &&
      other.asked.call !== asked.call &&
      other.outcome !== 'refused' &&
      mayActAfter(other, asked.call),
  )
  if (cancels.some(({ answeredAt }) => answeredAt < NEVER)) return 'cancelled'
  if (replacements.some(({ answeredAt }) => answeredAt < NEVER)) return 'replaced'
  return cancels.length + replacements.length > 0 ? 'perhaps cancelled or replaced' : undefined
}

/** A cancel that answers `running` has taken away what was to succeed the one that runs. */
export function tookSuccessor({ asked: { what, call }, answer }: Move, { asked, starts }: Message): boolean {
  return (
    what === 'cancel' &&
    answer === 'running' &&
    call > asked.call &&
    asked.ifExists === 'replace' &&
    starts.length === 0
  )
}

export function mayHaveWorked({ answer, answeredAt }: Move, answerWanted: string): boolean {
  return answeredAt === NEVER || answer === answerWanted
}

/** The calls about one id come one after the other; one without an answer may still act at any time. */
export function mayActAfter({ asked, answeredAt }: Message | Move, call: number): boolean {
  return asked.call > call || answeredAt === NEVER
}

function wasPerhapsDuplicate(message: Message, identity: Identity): boolean {
  return message.asked.ifExists === 'keep' && isPerhapsTaken(message, identity)
}

/** Whether another message may have had the id while this one was being produced. */
export function isPerhapsTaken(message: Message, { messages }: Identity): boolean {
  const { asked, answeredAt } = message
  return messages.some(
    (other) =>
      other !== message &&
      other.outcome !== 'refused' &&
      other.asked.at <= answeredAt &&
      surelyGoneAt(other) >= asked.at,
  )
}

function surelyGoneAt({ events }: Message): number {
  return Math.min(NEVER, ...events.filter(({ what }) => what === 'completed').map(({ at }) => at))
}
