/**
 * How long a worker sleeps before it asks its store again, as a machine: `step(state, event) -> [state, command]`. Pure;
 * `runtime/claiming/scheduler` owns the timer and does what the commands say.
 *
 *              start              answer: more is due, or a wake-up came meanwhile
 *      idle ─────────► reading ◄──────────┐
 *                      │ ▲ │ └────────────┘
 *        answer: later │ │ │ failure, or an empty-handed EXPIRED too often
 *                      ▼ │ ▼
 *     wake, room ► waiting  resting ── timer only: neither wake nor room cuts a pause short
 *     or timer         │
 *        answer: full  ▼             stop: from everywhere to `stopped`, for good
 *                  saturated ── room ──► reading
 *
 * Arm, read, wait: in `reading` a wake-up is remembered (`woken`), so that one which comes between the store's
 * look and its answer is never forgotten. Each answer gives a new wait, which never exceeds the fallback
 * interval, so that a lost wake-up costs at most that (P9); unless the store says when to look, because others look
 * meanwhile. Failures rest longer and longer, and never spin.
 */
import { exponentialMs, type Exponential } from './backoff.ts'
import { TIMER_MS_MAX } from '../input/duration.ts'
import { assertNever } from '../errors.ts'

/** What a claim says about the future; the store's contract has the same words. */
export type NextAnswer =
  | { readonly state: 'NO_TASK' }
  /** `isSharp`: nothing is handed out ahead of it, so that a later question means a later start. */
  | { readonly state: 'WAITING'; readonly ms: number; readonly isSharp?: boolean }
  | { readonly state: 'EXPIRED' }

/**
 * Why a sleeper is woken. An engine that has lost count, as after a broken connection, says `controls`: it covers the rest.
 *
 *   due         something may be due sooner than the last answer said
 *   cancelling  a message that runs is to be cancelled: its worker learns which when it extends its leases
 *   controls    a pause or a limit was set, changed or taken back: as `due`, and what a worker holds may be paused now
 */
export const WAKE_KINDS = ['due', 'cancelling', 'controls'] as const
export type WakeUp = { readonly kind: (typeof WAKE_KINDS)[number] }

export type SleepState =
  | { readonly name: 'idle' }
  | { readonly name: 'reading'; readonly woken: boolean; readonly failures: number; readonly barren: number }
  | { readonly name: 'waiting' }
  | { readonly name: 'saturated' }
  | { readonly name: 'resting'; readonly failures: number; readonly barren: number }
  | { readonly name: 'stopped' }

export type SleepEvent =
  | { readonly kind: 'start' }
  /** Something may be due sooner than the last answer said. */
  | { readonly kind: 'wake' }
  /** Something that was held back for want of room can now be asked for. */
  | { readonly kind: 'room' }
  | { readonly kind: 'timer' }
  /** `got`: how many messages came; `room`: whether there is room for more; `lookMs`: the longest wait, in place of ours. */
  | {
      readonly kind: 'answer'
      readonly next: NextAnswer
      readonly got: number
      readonly room: boolean
      readonly lookMs?: number
    }
  /** The store said elsewhere when to read next: a wait begins anew. */
  | { readonly kind: 'told'; readonly ms: number }
  /** `chance`: uniform in [0, 1), to spread the pauses of many processes. */
  | { readonly kind: 'failure'; readonly chance: number }
  | { readonly kind: 'stop' }

export type SleepCommand =
  | { readonly kind: 'read' }
  | { readonly kind: 'wait'; readonly ms: number }
  /** Only an event ends this: no timer is set. */
  | { readonly kind: 'halt' }
  /** Nothing to do: what is under way goes on. */
  | { readonly kind: 'none' }

export type SleepLimits = {
  /** The longest wait, even if the store names a longer one. */
  readonly fallbackMs: number
  /**
   * How much later than it could a read may come. With a store that hands out ahead of time, half of that: one read
   * then brings what comes due in the other half, instead of one message each, and its answer is still in time.
   */
  readonly slackMs: number
}

type Step = readonly [SleepState, SleepCommand]

const FAILURE_PAUSE: Exponential = { baseMs: 50, factor: 2, capMs: 5_000, jitter: 0.3 }
/** EXPIRED without a message is legal (the store moved something out of the way), but not without end and without a pause. */
const BARREN_FREE = 16
const BARREN_PAUSE: Exponential = { baseMs: 1, factor: 2, capMs: 100, jitter: 0 }

const READ: SleepCommand = { kind: 'read' }
const HALT: SleepCommand = { kind: 'halt' }
const NONE: SleepCommand = { kind: 'none' }
const FRESH_READING: SleepState = { name: 'reading', woken: false, failures: 0, barren: 0 }

export const IDLE: SleepState = { name: 'idle' }

export function step(state: SleepState, event: SleepEvent, limits: SleepLimits): Step {
  if (event.kind === 'stop') return [{ name: 'stopped' }, HALT]
  switch (state.name) {
    case 'idle':
      return event.kind === 'start' ? [FRESH_READING, READ] : [state, NONE]
    case 'reading':
      return stepReading(state, event, limits)
    case 'waiting':
      if (event.kind === 'told') return [state, { kind: 'wait', ms: Math.min(event.ms, TIMER_MS_MAX) }]
      return endsWaiting(event) ? [FRESH_READING, READ] : [state, NONE]
    case 'saturated':
      return event.kind === 'room' ? [FRESH_READING, READ] : [state, NONE]
    case 'resting':
      if (event.kind !== 'timer') return [state, NONE]
      return [{ name: 'reading', woken: false, failures: state.failures, barren: state.barren }, READ]
    case 'stopped':
      return [state, NONE]
    default:
      return assertNever(state)
  }
}

function endsWaiting({ kind }: SleepEvent): boolean {
  return kind === 'wake' || kind === 'room' || kind === 'timer'
}

type ReadingState = Extract<SleepState, { name: 'reading' }>

function stepReading(state: ReadingState, event: SleepEvent, limits: SleepLimits): Step {
  switch (event.kind) {
    case 'wake':
    case 'room':
      return [state.woken ? state : { ...state, woken: true }, NONE]
    case 'answer':
      return stepAnswer(state, event, limits)
    case 'failure': {
      const failures = state.failures + 1
      const ms = exponentialMs(FAILURE_PAUSE, failures, event.chance)
      return [
        { name: 'resting', failures, barren: 0 },
        { kind: 'wait', ms },
      ]
    }
    case 'start':
    case 'timer':
    case 'told':
    case 'stop':
      return [state, NONE]
    default:
      return assertNever(event)
  }
}

function stepAnswer(
  state: ReadingState,
  event: Extract<SleepEvent, { kind: 'answer' }>,
  limits: SleepLimits,
): Step {
  if (!event.room) return [{ name: 'saturated' }, HALT]
  if (event.next.state === 'EXPIRED') return stepExpired(state, event.got)
  if (state.woken) return [FRESH_READING, READ]
  return [{ name: 'waiting' }, { kind: 'wait', ms: waitMs(event, limits) }]
}

function stepExpired(state: ReadingState, got: number): Step {
  if (got > 0) return [FRESH_READING, READ]
  const barren = state.barren + 1
  if (barren <= BARREN_FREE) return [{ name: 'reading', woken: false, failures: 0, barren }, READ]
  const ms = exponentialMs(BARREN_PAUSE, barren - BARREN_FREE, 0)
  return [
    { name: 'resting', failures: 0, barren },
    { kind: 'wait', ms },
  ]
}

function waitMs(
  { next, lookMs }: Extract<SleepEvent, { kind: 'answer' }>,
  { fallbackMs, slackMs }: SleepLimits,
): number {
  const longest = Math.min(lookMs ?? fallbackMs, TIMER_MS_MAX)
  if (next.state !== 'WAITING') return longest
  const ms = next.isSharp === true ? next.ms : next.ms + slackMs
  return Math.max(0, Math.min(ms, longest))
}
