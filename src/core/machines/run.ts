/**
 * One leased message inside a worker, as a machine: `step(state, event) -> [state, effects]`. Pure; `runtime/consumers`
 * does what the effects say, and nothing else changes a state.
 *
 *   held ──due──► queued ──start──► running ──ended──► settling ──answered──► over
 *    │              │                  │ deadline, stop, doubt, cancel, │        ▲
 *    │              │                  │ lost                           ▲        │
 *    │              │                  └────► aborting ──ended, deadline┤        │
 *    └─ give back ──┴─ deadline, give back, refuse ─────────────────────┘        │
 *    └─ lost ───────┴─ lost ─────────────────── aborting because it is lost ─────┘
 *
 *   held      leased ahead of its moment, waits for it; no deadline
 *   queued    due, waits for a slot; deadline: what cannot start by then goes back (P12)
 *   running   the handler has it; deadline: its timeout
 *   aborting  the handler was told to end, and why; deadline: the end of its grace, while it doubts its timeout
 *   settling  the outcome is on its way to the store
 *   over      nothing more is written for it
 *
 * What a handler does after we told it to end is put down to the cause (P6): after a timeout every end is a failure. One
 * that is cancelled goes back, and the store takes it away, unless it said `complete()`. At a
 * stop, or in doubt about the lease, an error is our own doing; a return is one too if the handler had looked at its
 * signal, because it may have stopped half way. A handler that said `complete()` has completed, however it ends.
 */
import { assertNever } from '../errors.ts'
import type { Ending, Outcome } from './outcome.ts'

/** `doubt`: the lease is over by our clock and the store does not answer. `cancel`: somebody takes it back. `lost`: another worker may have the message. */
export type AbortCause = 'timeout' | 'stop' | 'doubt' | 'cancel' | 'lost'

export type RunState =
  | { readonly name: 'held' }
  | { readonly name: 'queued' }
  /** `isComplete`: the handler said that it has completed. */
  | { readonly name: 'running'; readonly isComplete: boolean }
  | { readonly name: 'aborting'; readonly why: AbortCause; readonly isComplete: boolean }
  | { readonly name: 'settling' }
  | { readonly name: 'over' }

export type RunEvent =
  /** Its moment has come. */
  | { readonly kind: 'due' }
  /** A slot is free, and it may still start. */
  | { readonly kind: 'start' }
  /** It must not be started: too late, unreadable, too many attempts. */
  | { readonly kind: 'refuse'; readonly outcome: Outcome }
  | { readonly kind: 'give back' }
  /** The time of its state is over. */
  | { readonly kind: 'deadline' }
  | { readonly kind: 'stop' }
  | { readonly kind: 'doubt' }
  /** The store says that it is to be cancelled. */
  | { readonly kind: 'cancel' }
  | { readonly kind: 'lost' }
  | { readonly kind: 'complete' }
  | { readonly kind: 'ended'; readonly ending: Ending; readonly hasSeenSignal: boolean }
  /** The worker goes on without waiting for the handler. */
  | { readonly kind: 'abandon' }
  /** The worker goes, and who runs it elsewhere keeps the lease. */
  | { readonly kind: 'leave' }
  /** The store has answered the settlement, or it was given up. */
  | { readonly kind: 'answered' }

export type RunEffect =
  | { readonly kind: 'enqueue' }
  | { readonly kind: 'leave holding' }
  | { readonly kind: 'leave line' }
  /** Nothing behind it can start sooner: the whole line of its lane goes back. */
  | { readonly kind: 'clear line' }
  /** Takes a slot and calls the handler, which may end at once: always the last effect. */
  | { readonly kind: 'call' }
  | { readonly kind: 'abort'; readonly why: AbortCause }
  | { readonly kind: 'free slot'; readonly how: 'ended' | 'abandoned' }
  /** Decides what becomes of the message, and sends it. */
  | { readonly kind: 'conclude'; readonly ending: Ending }
  /** The same for an attempt that had its time. */
  | { readonly kind: 'time out' }
  | { readonly kind: 'settle'; readonly outcome: Outcome }
  | { readonly kind: 'report lost' }
  /** The worker forgets it. */
  | { readonly kind: 'let go' }

export type RunStep = readonly [RunState, readonly RunEffect[]]

export const HELD: RunState = { name: 'held' }
export const QUEUED: RunState = { name: 'queued' }
const RUNNING: RunState = { name: 'running', isComplete: false }
const SETTLING: RunState = { name: 'settling' }
const OVER: RunState = { name: 'over' }

const NONE: readonly RunEffect[] = []
const LEAVE_HOLDING: RunEffect = { kind: 'leave holding' }
const LEAVE_LINE: RunEffect = { kind: 'leave line' }
const ENDED: RunEffect = { kind: 'free slot', how: 'ended' }
const ABANDONED: RunEffect = { kind: 'free slot', how: 'abandoned' }
const RELEASE: RunEffect = { kind: 'settle', outcome: { kind: 'release' } }
const RETURN: RunEffect = { kind: 'conclude', ending: { kind: 'returned' } }
const COMPLETE: RunEffect = { kind: 'conclude', ending: { kind: 'returned', isOwnWord: true } }
const TIME_OUT: RunEffect = { kind: 'time out' }
const REPORT_LOST: RunEffect = { kind: 'report lost' }
const LET_GO: RunEffect = { kind: 'let go' }

const BECOMES_DUE: RunStep = [QUEUED, [LEAVE_HOLDING, { kind: 'enqueue' }]]
const STARTS: RunStep = [RUNNING, [LEAVE_LINE, { kind: 'call' }]]
const RETURNS: RunStep = [SETTLING, [ENDED, RETURN]]
const IS_ANSWERED: RunStep = [OVER, [LET_GO]]
const LEFT: RunStep = [OVER, [ABANDONED, LET_GO]]

export function step(state: RunState, event: RunEvent): RunStep {
  switch (state.name) {
    case 'held':
      return event.kind === 'due' ? BECOMES_DUE : stepWaiting(state, event, LEAVE_HOLDING)
    case 'queued':
      if (event.kind === 'start') return STARTS
      if (event.kind === 'deadline') return [SETTLING, [LEAVE_LINE, RELEASE, { kind: 'clear line' }]]
      return stepWaiting(state, event, LEAVE_LINE)
    case 'running':
      return stepRunning(state, event)
    case 'aborting':
      return state.why === 'lost' ? stepLost(state, event) : stepAborting(state, state.why, event)
    case 'settling':
      return event.kind === 'answered' ? IS_ANSWERED : [state, NONE]
    case 'over':
      return [state, NONE]
    default:
      return assertNever(state)
  }
}

/** Whether the lease is ours, as far as is known here: it is to be extended. */
export function holdsLease(state: RunState): boolean {
  return state.name !== 'over' && !(state.name === 'aborting' && state.why === 'lost')
}

export function hasSlot(state: RunState): boolean {
  return state.name === 'running' || state.name === 'aborting'
}

/** Not started. */
function stepWaiting(state: RunState, event: RunEvent, leave: RunEffect): RunStep {
  switch (event.kind) {
    case 'give back':
    case 'cancel':
      return [SETTLING, [leave, RELEASE]]
    case 'refuse':
      return [SETTLING, [leave, { kind: 'settle', outcome: event.outcome }]]
    case 'lost':
      return [OVER, [leave, REPORT_LOST, LET_GO]]
    default:
      return [state, NONE]
  }
}

type Running = Extract<RunState, { name: 'running' }>
type Aborting = Extract<RunState, { name: 'aborting' }>

function stepRunning(state: Running, event: RunEvent): RunStep {
  const { isComplete } = state
  switch (event.kind) {
    case 'ended':
      if (isComplete) return [SETTLING, [ENDED, completed(event.ending)]]
      if (event.ending.kind === 'returned' && event.ending.result === undefined) return RETURNS
      return [SETTLING, [ENDED, { kind: 'conclude', ending: event.ending }]]
    case 'deadline':
      return abort('timeout', isComplete)
    case 'stop':
      return abort('stop', isComplete)
    case 'doubt':
      return abort('doubt', isComplete, REPORT_LOST)
    case 'cancel':
      return abort('cancel', isComplete)
    case 'lost':
      return abort('lost', isComplete, REPORT_LOST)
    case 'complete':
      return isComplete ? [state, NONE] : [{ ...state, isComplete: true }, NONE]
    case 'abandon':
      return [SETTLING, [ABANDONED, isComplete ? COMPLETE : RELEASE]]
    case 'leave':
      return LEFT
    default:
      return [state, NONE]
  }
}

function stepAborting(state: Aborting, why: Exclude<AbortCause, 'lost'>, event: RunEvent): RunStep {
  const { isComplete } = state
  switch (event.kind) {
    case 'ended':
      return [SETTLING, [ENDED, isComplete ? completed(event.ending) : verdict(why, event)]]
    case 'deadline':
      if (why === 'doubt') return abort('timeout', isComplete)
      if (why === 'stop') return [state, NONE]
      if (isComplete) return [SETTLING, [ENDED, COMPLETE]]
      return [SETTLING, [ENDED, why === 'timeout' ? TIME_OUT : RELEASE]]
    case 'stop':
      return why === 'doubt' ? abort('stop', isComplete) : [state, NONE]
    case 'cancel':
      return why === 'doubt' ? abort('cancel', isComplete) : [state, NONE]
    case 'lost':
      // In doubt, it was reported already.
      return why === 'doubt' ? abort('lost', isComplete) : abort('lost', isComplete, REPORT_LOST)
    case 'complete':
      return isComplete ? [state, NONE] : [{ ...state, isComplete: true }, NONE]
    case 'abandon':
      if (isComplete) return [SETTLING, [ABANDONED, COMPLETE]]
      return [SETTLING, [ABANDONED, why === 'timeout' ? TIME_OUT : RELEASE]]
    case 'leave':
      return LEFT
    default:
      return [state, NONE]
  }
}

/** The message may be somebody else's: only the slot is still of interest. */
function stepLost(state: Aborting, event: RunEvent): RunStep {
  switch (event.kind) {
    case 'ended':
    case 'deadline':
      return [OVER, [ENDED, LET_GO]]
    case 'abandon':
    case 'leave':
      return LEFT
    default:
      return [state, NONE]
  }
}

function abort(why: AbortCause, isComplete: boolean, ...before: readonly RunEffect[]): RunStep {
  return [{ name: 'aborting', why, isComplete }, [...before, { kind: 'abort', why }]]
}

/** It has completed, however it ended; what it returned is still worth keeping. */
function completed(ending: Ending): RunEffect {
  return ending.kind === 'returned' ? { kind: 'conclude', ending: { ...ending, isOwnWord: true } } : COMPLETE
}

function verdict(
  why: 'timeout' | 'stop' | 'doubt' | 'cancel',
  { ending, hasSeenSignal }: Extract<RunEvent, { kind: 'ended' }>,
): RunEffect {
  if (why === 'timeout') return TIME_OUT
  // The store takes a message that is to be cancelled away, however we settle it.
  if (why === 'cancel') return RELEASE
  return ending.kind === 'returned' && !hasSeenSignal ? { kind: 'conclude', ending } : RELEASE
}
