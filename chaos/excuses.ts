/**
 * What the faults explain, and what they do not. An excuse is never "there was a storm": it names what happened to
 * this very process, or to everybody's way to the store, between these two moments.
 */
import type { FaultLine, StartLine } from './lines.ts'
import type { Message, Stories } from './stories.ts'

/** How long a fault is felt after it ended: a call may wait this long for its answer, and a bit for a connection. */
export const AFTERMATH_MS = 8_000
/** A process that was frozen between its last look at the clock and its first word speaks right after it thaws. */
const THAW_MS = 1_000

export type RepeatReason =
  | 'its handler failed'
  | 'its worker was killed'
  | 'its worker was stopped'
  | 'its lease was lost'
  | 'its worker was cut off, then killed'
  | 'a worker thawed with an old lease'

/** Why a message that was started is started again; undefined when nothing explains it. */
export function reasonForRepeat(
  message: Message,
  before: StartLine,
  after: StartLine,
  stories: Stories,
): RepeatReason | undefined {
  const end = message.ends.find((line) => isSameAttempt(line, before) && line.at <= after.at)
  if (end !== undefined && end.how !== 'done' && end.how !== 'dies') return 'its handler failed'
  const process = stories.processes.get(before.who)
  if (end?.how === 'dies' || diedBetween(before, after.at, stories)) return 'its worker was killed'
  if (process?.stoppingAt !== undefined && process.stoppingAt <= after.at) return 'its worker was stopped'
  if (message.events.some((line) => line.what === 'lost' && isSameAttempt(line, before)))
    return 'its lease was lost'
  // It would have said that the lease was lost, had it lived to hear of it.
  const isDead = process?.exit?.signal === 'SIGKILL'
  if (isDead && faultFor(before.who, before.at, after.at, stories) !== undefined)
    return 'its worker was cut off, then killed'
  if (hasJustThawed(after, stories)) return 'a worker thawed with an old lease'
  return undefined
}

/** Whether the worker of an attempt reported its lease as lost, or as in doubt, before the next attempt began. */
export function wasDoubted({ events }: Message, before: StartLine, after: StartLine): boolean {
  return events.some((line) => line.what === 'lost' && isSameAttempt(line, before) && line.at <= after.at)
}

type Named = { readonly who: string; readonly attempt: number }

function isSameAttempt(a: Named, b: Named): boolean {
  return a.who === b.who && a.attempt === b.attempt
}

function diedBetween({ who, at }: StartLine, until: number, { processes, faults }: Stories): boolean {
  const exit = processes.get(who)?.exit
  if (exit !== undefined && exit.at <= until) return true
  // The signal was on its way before we saw the exit.
  return faults.some(
    (fault) => fault.target === who && fault.kind.startsWith('kill') && fault.at >= at && fault.at <= until,
  )
}

/** A fault that kept this process, or everybody, from the store at some time between the two moments. */
export function faultFor(
  who: string,
  from: number,
  until: number,
  { faults }: Stories,
): FaultLine | undefined {
  return faults.find(
    (fault) =>
      (fault.target === who || fault.isForAll) && fault.at <= until && fault.until + AFTERMATH_MS >= from,
  )
}

/**
 * Any fault to any process, and any death, also by a handler that kills: the process that had claimed it need not have started it,
 * and so is not known.
 */
export function anyTrouble(from: number, until: number, { faults, processes }: Stories): boolean {
  const isNear = (beganAt: number, endedAt: number): boolean =>
    beganAt <= until && endedAt + AFTERMATH_MS >= from
  return (
    faults.some((fault) => isNear(fault.at, fault.until)) ||
    [...processes.values()].some(({ exit }) => exit?.signal === 'SIGKILL' && isNear(exit.at, exit.at))
  )
}

/** Frozen in the instant between the check of the lease and the first line of the handler. */
export function hasJustThawed({ who, at }: StartLine, { faults }: Stories): boolean {
  return faults.some(
    (fault) =>
      fault.kind.startsWith('freeze') &&
      fault.target === who &&
      fault.until <= at &&
      at <= fault.until + THAW_MS,
  )
}
