/**
 * The auditor: from the logs of all processes, and what was found in the store, to what was broken. It uses no other
 * source, and believes no process about another. A process writes a line before the act that could kill it.
 *
 * What a call that got no answer did is unknown for good: a server that slept may do it minutes later. So everything that
 * such a call may have done, at any time after it was made, is legal.
 */
import {
  anyTrouble,
  faultFor,
  hasJustThawed,
  reasonForRepeat,
  wasDoubted,
  type RepeatReason,
} from './excuses.ts'
import { fateOf, isPerhapsTaken, mayActAfter, mayHaveWorked, tookSuccessor, type Fate } from './fate.ts'
import type { StartLine } from './lines.ts'
import { NEVER, type Identity, type Message, type Move, type Stories } from './stories.ts'

/** What was handed out starts within this time, or goes back (P12), on a machine that is busy. */
const HANDED_OUT_MS = 1_000

export type Finding = {
  /** The promise that was broken, as docs/guarantees.md numbers them. */
  readonly promise: string
  readonly what: string
  /** The lines that concern it can be found by this. */
  readonly about?: string
}

export type Audit = {
  readonly findings: readonly Finding[]
  readonly counts: Readonly<Record<string, number>>
  /** Of what was promised. */
  readonly fates: Readonly<Partial<Record<Fate, number>>>
  readonly repeats: Readonly<Partial<Record<RepeatReason, number>>>
}

export type Rules = {
  /** What `stop()` may take. */
  readonly stopMs: number
  /** Whether the store's doctor rightly says this of a store that is well. */
  readonly isExpected: (complaint: string) => boolean
  /** Faults after which the store may have forgotten leases of the last moment, and with them the count of an attempt. */
  readonly forgets: readonly string[]
}

/** A claim may have been made so long before its handler starts, and be forgotten all the same. */
const FORGOTTEN_MS = 2_000

/** No finding, because a starved machine can do it too; but a number to look at. */
const UNPROVOKED = 'leases lost without a fault nearby'

export function audit(stories: Stories, rules: Rules): Audit {
  const findings: Finding[] = []
  const counts = new Map([[UNPROVOKED, 0]])
  const repeats = new Map<RepeatReason, number>()
  const fates = new Map<Fate, number>()
  const count = (what: string, by = 1): void => void counts.set(what, (counts.get(what) ?? 0) + by)

  for (const identity of stories.identities.values()) {
    for (const message of identity.messages) {
      tally(message, count)
      const fate = message.outcome === 'promised' ? fateOf(message, identity) : undefined
      if (fate !== undefined) fates.set(fate, (fates.get(fate) ?? 0) + 1)
      findings.push(
        ...findLoss(message, fate),
        ...findEarly(message, identity),
        ...findAfterEnd(message, identity, stories),
        ...findBadAttempts(message, stories, rules),
        ...findBadEnds(message),
        ...findPaused(message, stories),
      )
      for (const [before, after] of pairs(message.starts)) {
        const reason = reasonForRepeat(message, before, after, stories)
        if (reason === undefined) findings.push(unexplained(message, before, after))
        else repeats.set(reason, (repeats.get(reason) ?? 0) + 1)
        if (reason === 'its lease was lost' && !faultFor(before.who, before.at, after.at, stories))
          count(UNPROVOKED)
      }
    }
    findings.push(...findWrongRefusals(identity))
  }
  for (const { id, g, what, who } of stories.strangers)
    findings.push({
      promise: 'P2',
      what: `${id}#${g}: "${what}" in ${who}, but no producer announced it`,
      about: id,
    })
  findings.push(...findBadProcesses(stories, rules), ...findComplaints(stories, rules))
  return {
    findings,
    counts: Object.fromEntries(counts),
    fates: Object.fromEntries(fates),
    repeats: Object.fromEntries(repeats),
  }
}

function tally({ outcome, starts }: Message, count: (what: string, by?: number) => void): void {
  count('asked for')
  count(outcome === 'open' ? 'unknown' : outcome)
  count('starts', starts.length)
}

/** P2, P8: what was promised has a fate that its producer can accept, and nothing is left. */
function findLoss(message: Message, fate: Fate | undefined): Finding[] {
  const left = message.found.find(({ what }) => what === 'left')
  if (left !== undefined) return [finding('P8', message, `left in the store at the end, ${left.state}`)]
  if (fate !== 'lost') return []
  return [finding('P2', message, `promised to ${message.asked.who}, and never seen again`)]
}

/** P5: `fail` may only say that the id is taken when it may be. */
function findWrongRefusals(identity: Identity): Finding[] {
  return identity.messages
    .filter(({ outcome, refusal }) => outcome === 'refused' && refusal === 'ID_EXISTS')
    .filter((message) => !isPerhapsTaken(message, identity))
    .map((message) => finding('P5', message, 'refused because the id exists, which it cannot'))
}

/** P1: by the moment that the worker was told, and by the moment that the producer asked for. */
function findEarly(message: Message, identity: Identity): Finding[] {
  return message.starts.flatMap((start) => {
    // Logs tell whole milliseconds, and a moment may have a fraction.
    if (start.at < Math.floor(start.dueAt))
      return [finding('P1', message, `started ${start.dueAt - start.at} ms early by ${start.who}`)]
    const earliest = start.attempt === 1 ? earliestAsked(message, identity, start.at) : undefined
    return earliest !== undefined && start.at < earliest
      ? [finding('P1', message, `started by ${start.who} ${earliest - start.at} ms before it was asked for`)]
      : []
  })
}

/** The earliest moment that any request still in force asked for. */
function earliestAsked(message: Message, { moves }: Identity, at: number): number {
  const moved = moves
    .filter((move) => mayActAfter(move, message.asked.call) && move.asked.at <= at)
    .filter((move) => move.asked.what === 'reschedule' && mayHaveWorked(move, 'rescheduled'))
  const requests = [message, ...moved]
  const inForce = requests.filter(
    (request) =>
      !moved.some(
        (later) =>
          later.answer === 'rescheduled' &&
          later.asked.call > request.asked.call &&
          request.answeredAt < NEVER &&
          later.answeredAt <= at,
      ),
  )
  return Math.min(...inForce.map(({ asked }) => dueOf(asked)))
}

function dueOf(asked: Message['asked'] | Move['asked']): number {
  if ('dueAt' in asked && asked.dueAt !== undefined) return asked.dueAt
  return asked.at + (asked.delay ?? 0)
}

/** P4, P5: nothing runs that was acknowledged as completed, cancelled, replaced or refused. */
function findAfterEnd(message: Message, { messages, moves }: Identity, stories: Stories): Finding[] {
  const { asked, outcome, starts, events } = message
  if (outcome === 'refused' && starts.length > 0)
    return [finding('P5', message, 'refused, and run all the same')]
  type End = { readonly at: number; readonly who: string; readonly how: string; readonly by?: Message }
  const ends: End[] = events
    .filter(({ what }) => what === 'completed')
    .map(({ at, who }) => ({ at, who, how: 'its completion was acknowledged' }))
  if (outcome === 'promised') {
    for (const move of moves)
      if (move.answer === 'cancelled' && move.asked.call > asked.call)
        ends.push({ at: move.answeredAt, who: asked.who, how: 'it was cancelled' })
    for (const other of messages)
      if (
        other.asked.ifExists === 'replace' &&
        other.outcome === 'promised' &&
        other.asked.call > asked.call &&
        !moves.some((move) => tookSuccessor(move, other))
      )
        ends.push({ at: other.answeredAt, who: asked.who, how: 'it was replaced', by: other })
  }
  return starts.flatMap((start) =>
    ends
      .filter((end) => start.at > end.at && !hasJustThawed(start, stories) && !isSucceeded(start, end))
      .map((end) =>
        finding('P4', message, `started by ${start.who} ${start.at - end.at} ms after ${end.how}`),
      ),
  )
}

/** What is replaced after it was handed out still runs, and its successor after it. */
function isSucceeded(start: StartLine, { at, by }: { readonly at: number; readonly by?: Message }): boolean {
  return by !== undefined && start.at - at <= HANDED_OUT_MS && by.starts.every((next) => next.at >= start.at)
}

/** P6: attempts are counted, one by one, up to the limit. */
function findBadAttempts(message: Message, stories: Stories, { forgets }: Rules): Finding[] {
  const { asked, starts } = message
  const findings: Finding[] = []
  const beyond = starts.find(({ attempt }) => attempt > asked.limit + 1)
  if (beyond !== undefined)
    findings.push(finding('P6', message, `attempt ${beyond.attempt} of at most ${asked.limit + 1}`))
  for (const [before, after] of pairs(starts)) {
    if (after.attempt > before.attempt) continue
    // It had looked at its lease before it froze, and somebody else took the message over meanwhile.
    if (hasJustThawed(after, stories)) continue
    // A stop gives an attempt back, and so does a worker that doubted its lease: both are not the message's doing.
    const isForgotten = stories.faults.some(
      ({ kind, at, until }) => forgets.includes(kind) && until >= before.at - FORGOTTEN_MS && at <= after.at,
    )
    const isReturned = after.attempt === before.attempt && (isForgotten || wasDoubted(message, before, after))
    if (!isReturned && reasonForRepeat(message, before, after, stories) !== 'its worker was stopped')
      findings.push(finding('P6', message, `attempt ${after.attempt} came after attempt ${before.attempt}`))
  }
  let last = 0
  let since = asked.at
  for (const { attempt, at } of starts) {
    if (attempt > last + 1 && !anyTrouble(since, at, stories))
      findings.push(
        finding('P6', message, `attempt ${attempt} follows attempt ${last}, and no process was in trouble`),
      )
    last = attempt
    since = at
  }
  return findings
}

/** P4, P6, P8: completed once, after its handler returned; dead for a reason; not both. */
function findBadEnds(message: Message): Finding[] {
  const { asked, ends, events, found } = message
  const findings: Finding[] = []
  const completions = events.filter(({ what }) => what === 'completed')
  if (completions.length > 1) findings.push(finding('P4', message, `completed ${completions.length} times`))
  for (const { who, attempt } of completions)
    if (!ends.some((end) => end.who === who && end.attempt === attempt && end.how === 'done'))
      findings.push(finding('P4', message, `completed by ${who}, whose handler did not return`))
  for (const dead of found.filter(({ what }) => what === 'buried')) {
    if (completions.length > 0) findings.push(finding('P8', message, 'completed, and dead as well'))
    const isRight = {
      failed: dead.attempt === asked.limit + 1,
      lapsed: dead.attempt >= asked.limit + 1,
      timeout: dead.attempt === asked.limit + 1,
      // A worker that died made no start that counts, nor one whose word that it is done reached nobody; a failure did.
      expired: asked.ttl !== undefined && ends.every(({ how }) => how === 'dies' || how === 'done'),
      'gave up': ends.some(({ how }) => how === 'gave up'),
    }[dead.reason ?? '']
    if (isRight !== true)
      findings.push(
        finding(
          'P6',
          message,
          `dead, ${dead.reason}, at attempt ${dead.attempt} of at most ${asked.limit + 1}`,
        ),
      )
  }
  return findings
}

/** What a machine that is small and shared may add to the promise. */
const PAUSE_MS = 250 + 1_000

/** P14: nothing starts in a pause. A worker that was in trouble may not have heard of it. */
function findPaused(message: Message, stories: Stories): Finding[] {
  return message.starts.flatMap((start) =>
    stories.pauses
      .filter(
        ({ topic, from, until }) => topic === start.topic && start.at > from + PAUSE_MS && start.at < until,
      )
      .filter(({ from }) => faultFor(start.who, from, start.at, stories) === undefined)
      .map(({ from }) =>
        finding(
          'P14',
          message,
          `started by ${start.who} ${start.at - from} ms after "${start.topic}" was paused`,
        ),
      ),
  )
}

/** P11, and that a process ends only when the storm kills it or tells it to stop. */
function findBadProcesses({ processes, faults }: Stories, { stopMs }: Rules): Finding[] {
  const findings: Finding[] = []
  for (const [who, { exit, stopped, stoppingAt, isPoisoned }] of processes) {
    if (exit !== undefined && !exit.isKilled && !isPoisoned && exit.code !== 0)
      findings.push({
        promise: 'P8',
        what: `${who} ended by itself, code ${exit.code}, ${exit.signal ?? 'no signal'}`,
        about: who,
      })
    const isFrozen = faults.some(
      ({ kind, target, until }) => kind.startsWith('freeze') && target === who && until >= (stoppingAt ?? 0),
    )
    if (stopped !== undefined && stopped.durationMs > stopMs && !isFrozen)
      findings.push({
        promise: 'P11',
        what: `${who} took ${Math.round(stopped.durationMs)} ms to stop`,
        about: who,
      })
  }
  return findings
}

/** P8: what the engine itself says about its store, asked in the middle of it all. */
function findComplaints({ complaints }: Stories, { isExpected }: Rules): Finding[] {
  const unexpected = complaints.filter((complaint) => !isExpected(complaint))
  return unexpected.map((what) => ({ promise: 'P8', what: `the doctor of the store: ${what}` }))
}

function unexplained(message: Message, before: StartLine, after: StartLine): Finding {
  return finding(
    'P3',
    message,
    `attempt ${before.attempt} of ${before.who} was repeated as ${after.attempt} by ${after.who} without a reason`,
  )
}

function finding(promise: string, { id, asked }: Message, what: string): Finding {
  return { promise, what: `${id}#${asked.call}: ${what}`, about: id }
}

function* pairs<T>(items: readonly T[]): Generator<readonly [T, T]> {
  for (let i = 1; i < items.length; i += 1) yield [items[i - 1] as T, items[i] as T]
}
