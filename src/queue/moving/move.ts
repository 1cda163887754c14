/**
 * Moves a queue from one store to another, with all that it holds: messages with their attempts, dead letters, remembered
 * ids, tags, schedules, pauses and limits.
 *
 *   announce ──► stand still ──► wait for what runs ──► copy ──► verify, remove ──► controls ──► the target goes on
 *   (journal)    (both paused)                          └──── until nothing is left ────┘
 *
 * Every step may be repeated, and a move that was killed anywhere is begun again with the same call: `journal.ts` says
 * where it is, `transfer.ts` why nothing is lost or doubled. The source stays paused: what old producers still put there
 * waits, and the same call moves it too.
 */
import type { Clock } from '../../clock.ts'
import { SCHEDULES_TOPIC } from '../../core/control.ts'
import { FOREVER, WHOLE_QUEUE } from '../../core/controls.ts'
import { UsageError } from '../../core/errors.ts'
import { ownerName } from '../../core/owner.ts'
import type { Random } from '../../random.ts'
import type { StateCounts, Store } from '../../store/contract/store.ts'
import {
  assertCarried,
  carryControls,
  carryKeyLimits,
  goOn,
  readControls,
  type CarriedControls,
} from './controls.ts'
import {
  announceArrival,
  beginJournal,
  forgetArrival,
  forgetJournal,
  MoveJournal,
  readArrival,
  readJournal,
  type ArrivalRecord,
} from './journal.ts'
import { countRunning, standStill, waitForRunning } from './standstill.ts'
import { copyAll, settleAll, surveyAll, type Conflict, type Settled, type TransferParts } from './transfer.ts'
import { assertWhole, type KindCounts } from './walking.ts'

const LEASE_MS = 10_000
/** Producers that go on fill the source again; at some time it is said instead of chased. */
const ROUNDS_MAX = 10

export type MoveParts = {
  readonly source: Store
  readonly target: Store
  readonly clock: Clock
  readonly random: Random
  readonly host: string
  readonly waitMs: number
  /** Forgets an unfinished move to another target. */
  readonly isAnew: boolean
  readonly onProgress: (progress: MoveProgress) => void
}

export type MoveProgress =
  | { readonly step: 'wait'; readonly running: number }
  | { readonly step: 'copy' | 'verify'; readonly count: number }

/** How many are where: on both sides, before and after. */
export type MoveCounts = { readonly source: StateCounts; readonly target: StateCounts }

export type MoveReport = {
  /** What this call verified in the target and took from the source. */
  readonly moved: KindCounts
  /** Ids that are taken in the target by something else. They stay in the source. */
  readonly conflicts: readonly Conflict[]
  /** Occurrences that a schedule had placed on one side, and that the same schedule brings on the other. */
  readonly withdrawn: number
  /** What came into the source meanwhile and is left there. */
  readonly left: number
  readonly controls: CarriedControls
  /** False: the target or the source was paused before, and the target stays so. */
  readonly goesOn: boolean
  readonly before: MoveCounts
  readonly after: MoveCounts
}

export async function moveQueue(parts: MoveParts): Promise<MoveReport> {
  const { source, target, clock, random, host } = parts
  const owner = ownerName({ host, pid: process.pid, startedAt: clock.now(), chance: random.next() })
  await announce(parts)
  const journal = await MoveJournal.take({ store: source, clock, owner, leaseMs: LEASE_MS })
  try {
    const arrival = await goOnWith(parts, journal)
    await standStill(source)
    await standStill(target)
    const hold = (): Promise<void> => journal.hold()
    const onWait = (running: number): void => parts.onProgress({ step: 'wait', running })
    const waiting = { clock, owner, leaseMs: LEASE_MS, waitMs: parts.waitMs, hold, onWait }
    await waitForRunning({ ...waiting, store: source, side: 'source' })
    await waitForRunning({ ...waiting, store: target, side: 'target' })
    const before = await countBoth(source, target)
    const settled = await transfer({ source, target, hold, onProgress: parts.onProgress })
    const { record } = journal
    const controls = await carryControls(record.controls, target, arrival.controls)
    await carryKeyLimits(record.controls, { from: source, to: target }, controls.carried)
    const after = await countBoth(source, target)
    await journal.write({ ...record, phase: 'moved' })
    const goesOn = await goOn(target, arrival.controls, record.controls)
    await source.control({ kind: 'resume', topic: SCHEDULES_TOPIC })
    await forgetJournal(target)
    await forgetArrival(target, record.move)
    const { moved, conflicts, withdrawn } = settled
    return {
      moved,
      withdrawn,
      conflicts,
      left: Math.max(0, heldIn(after.source) - conflicts.length),
      controls,
      goesOn,
      before,
      after,
    }
  } finally {
    await journal.leave().catch(() => undefined)
  }
}

/** Looks through the source, and for each id into the target. Changes nothing. */
export async function surveyMove(
  parts: Pick<MoveParts, 'source' | 'target' | 'onProgress'>,
): Promise<SurveyReport> {
  const { source, target, onProgress } = parts
  assertCarried(await readControls(source), target)
  const found = await surveyAll({ source, target, onProgress })
  return { ...found, running: await countRunning(source), before: await countBoth(source, target) }
}

export type SurveyReport = {
  readonly found: KindCounts
  readonly conflicts: readonly Conflict[]
  readonly running: number
  readonly before: MoveCounts
}

/** Makes the journal where there is none yet. Nothing is paused or copied before it is there. */
async function announce({ source, target, random }: MoveParts): Promise<void> {
  if ((await readJournal(source)) !== undefined) return
  const controls = await readControls(source)
  assertCarried(controls, target)
  const move = newName(random)
  await announceTo(target, source, move)
  await beginJournal(source, { move, phase: 'moving', controls })
  // Another process may have been quicker: then its journal counts, and this announcement is of no move.
  if ((await readJournal(source))?.move !== move) await forgetArrival(target, move)
}

/** The target of this move: the same as before, or after a finished one a new one. */
async function goOnWith(parts: MoveParts, journal: MoveJournal): Promise<ArrivalRecord> {
  const { source, target, random, isAnew } = parts
  const { record } = journal
  const known = await readArrival(target, record.move)
  if (known !== undefined) return known
  if (record.phase === 'moving' && !isAnew) {
    throw new UsageError(
      'MOVE_REFUSED',
      'a move of this queue to another target is unfinished; run it again with that target, or with --anew to begin a move to this one.',
    )
  }
  const now = await readControls(source)
  const isStillPaused = now.some(({ topic, pausedUntil }) => topic === WHOLE_QUEUE && pausedUntil === FOREVER)
  const controls = isStillPaused ? record.controls : now
  assertCarried(controls, target)
  const move = newName(random)
  const arrival = await announceTo(target, source, move)
  await journal.write({ move, phase: 'moving', controls })
  return arrival
}

/** Also tells a target that is the source itself, whatever its URL. */
async function announceTo(target: Store, source: Store, move: string): Promise<ArrivalRecord> {
  const departure = await readJournal(target)
  // A queue that was moved away is paused since; what comes into it now finds it as it was before.
  const controls = departure?.phase === 'moved' ? departure.controls : await readControls(target)
  await announceArrival(target, move, { controls })
  if ((await readArrival(source, move)) !== undefined) {
    await forgetArrival(target, move)
    throw new UsageError(
      'MOVE_REFUSED',
      'source and target are the same queue; name another --to or --to-queue.',
    )
  }
  if (departure?.phase === 'moving') {
    await forgetArrival(target, move)
    throw new UsageError('MOVE_REFUSED', 'the target is itself being moved away; finish that move first.')
  }
  return { controls }
}

/** Copies and verifies until nothing is left but conflicts. */
async function transfer(parts: TransferParts): Promise<Settled & Pick<MoveReport, 'withdrawn'>> {
  let withdrawn = 0
  let moved: KindCounts = { schedules: 0, waiting: 0, dead: 0, remembered: 0 }
  for (let round = 1; ; round += 1) {
    withdrawn += await copyAll(parts)
    const settled = await settleAll(parts)
    moved = addCounts(moved, settled.moved)
    const isProgress = Object.values(settled.moved).some((count) => count > 0) || settled.absent > 0
    if (!isProgress || round === ROUNDS_MAX) return { ...settled, moved, withdrawn }
  }
}

function addCounts(a: KindCounts, b: KindCounts): KindCounts {
  return {
    schedules: a.schedules + b.schedules,
    waiting: a.waiting + b.waiting,
    dead: a.dead + b.dead,
    remembered: a.remembered + b.remembered,
  }
}

async function countBoth(source: Store, target: Store): Promise<MoveCounts> {
  const [from, to] = await Promise.all([source.count(), target.count()])
  assertWhole(from.missing)
  assertWhole(to.missing)
  return { source: from.states, target: to.states }
}

function heldIn({ delayed, ready, running, dead }: StateCounts): number {
  return delayed + ready + running + dead
}

/** Of this move, unlike any other. */
function newName(random: Random): string {
  return [random.next(), random.next()].map((part) => Math.floor(part * 36 ** 8).toString(36)).join('')
}
