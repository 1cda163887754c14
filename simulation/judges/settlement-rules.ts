/**
 * Which settlement is the right one for what happened to a message (P2, P6). Judged from outside: from the lease, and
 * from what its handler was seen doing.
 *
 *   ack      the handler returned before it was told to end, or said that it has completed; or its ttl was over, and it
 *            is to be skipped then. It carries exactly what the handler attached (P15)
 *   again    the handler snoozed; or it never started, because its window was closed (P19)
 *   retry    it threw, or had its time; or its lease lapsed, and the one before too. Only while attempts are left
 *   lapse    its lease lapsed, for the first time in a row; or the answer to the takeover was lost, and nobody knows more
 *   dead     it said so, or the attempts are used up; or it was never started because its ttl was over
 *   release  it was never started, or its worker stops, or was in doubt about the lease and told it to end
 */
import { assertNever } from '../../src/core/errors.ts'
import { isControl } from '../../src/core/control.ts'
import { followUpsOf } from '../../src/store/contract/sizes.ts'
import type { Settlement } from '../../src/store/contract/store.ts'
import { judgeMove } from './quiet.ts'
import type { Holder, LeaseRecord } from './lease-record.ts'

/** What is wrong with it; undefined when nothing is. `elapsed`: simulated time. */
export function judgeSettlement(
  settlement: Settlement,
  lease: LeaseRecord | undefined,
  holder: Holder,
  elapsed: number,
): string | undefined {
  if (lease === undefined) return 'there never was such a lease'
  if (isControl(settlement.topic)) return undefined // Judged by what it fires.
  if (lease.holder !== holder) return `${holder.name} settles the lease of ${lease.holder.name}`
  switch (settlement.kind) {
    case 'ack':
      return judgeAck(lease) ?? judgeCarried(lease, settlement)
    case 'again':
      if (settlement.followUps !== undefined) return 'it carries messages, and does not complete'
      if (lease.ended !== 'snoozed') return judgeMove(settlement, lease)
      return settlement.keepsLapses === true ? 'its handler ran, and its lapses are over' : undefined
    case 'lapse':
      return judgeLapse(lease)
    case 'retry':
      if (settlement.isLapse === true && lease.from !== 'lapsed') return 'its lease had not lapsed'
      return judgeRetry(lease, elapsed, settlement.isLapse === true)
    case 'dead':
      return judgeDead(lease, settlement.reason, elapsed)
    case 'release':
      return judgeRelease(lease)
    default:
      return assertNever(settlement)
  }
}

function judgeAck(lease: LeaseRecord): string | undefined {
  const { ended, endedAt = 0, abortedAt = Infinity, isComplete } = lease
  if (isComplete) return undefined
  if (lease.startedAt === undefined && lease.policy.isSkipped)
    return isUnstarted(lease) ? undefined : 'it is a retry'
  if (ended !== 'returned') return `its handler ${handlerOf(lease)}`
  return abortedAt < endedAt ? 'its handler was told to end, and only then returned' : undefined
}

/** Its ttl asks for a first start in time; a worker that died has made none. */
function isUnstarted({ attempt, lapses, policy }: LeaseRecord): boolean {
  return lapses === attempt - 1 && policy.ttlMs !== undefined
}

/** P15: what the handler attached, and nothing else. */
function judgeCarried(lease: LeaseRecord, settlement: Settlement): string | undefined {
  const carried = followUpsOf(settlement).map(({ id }) => id)
  const isSame = carried.join(' ') === lease.attached.join(' ')
  return isSame
    ? undefined
    : `it carries "${carried.join(' ')}", and its handler attached "${lease.attached.join(' ')}"`
}

/** A process without a handler for it knows no limit, and lets it lapse as often as it finds it. */
function judgeLapse({
  from,
  lapses,
  holder,
  topic,
  attempt,
  policy,
  grantedAt,
  isDelivered,
}: LeaseRecord): string | undefined {
  if (from !== 'lapsed') return 'its lease had not lapsed'
  if (!isDelivered) return undefined
  if (holder.handledSince(topic) > grantedAt) return undefined
  if (lapses > 0) return `it is the ${lapses + 1}. lapse in a row`
  return attempt > policy.limit ? `attempt ${attempt} of at most ${policy.limit + 1}` : undefined
}

function judgeRetry(lease: LeaseRecord, elapsed: number, isLapse: boolean): string | undefined {
  const { attempt, policy, from, startedAt } = lease
  if (isLapse !== (from === 'lapsed')) return 'whether its lease lapsed is another matter'
  if (from === 'lapsed') return lease.lapses > 0 ? undefined : 'it is the first lapse in a row'
  if (startedAt === undefined) return hadItsTime(lease, elapsed) ? undefined : 'its handler never started'
  if (attempt > policy.limit) return `attempt ${attempt} of at most ${policy.limit + 1}`
  return failedFairly(lease, elapsed)
}

function judgeDead(lease: LeaseRecord, reason: string, elapsed: number): string | undefined {
  const { attempt, policy, from, startedAt, ended } = lease
  if (from === 'lapsed') return attempt > policy.limit ? undefined : `attempt ${attempt} has retries left`
  if (startedAt === undefined) {
    if (reason === 'schema') return lease.isMisfit ? undefined : 'its payload fits'
    if (hadItsTime(lease, elapsed) && attempt > policy.limit) return undefined
    if (reason === 'expired') return isUnstarted(lease) && !policy.isSkipped ? undefined : 'it has no ttl'
    return attempt > policy.limit + 1 ? undefined : `never started, attempt ${attempt} (${reason})`
  }
  if (ended === 'threw DeadLetter') return undefined
  return attempt > policy.limit
    ? failedFairly(lease, elapsed)
    : `attempt ${attempt} has retries left (${reason})`
}

function judgeRelease(lease: LeaseRecord): string | undefined {
  const { from, startedAt, endedAt, ended, holder, abortedAt, isComplete, answer } = lease
  if (from === 'lapsed') return 'a lapse counts as an attempt'
  if (startedAt === undefined || answer !== 'release') return undefined // Or it gave up telling how it ended.
  if (isComplete) return 'its handler said that it has completed'
  if (lease.isCancelled) return undefined
  if (holder.stopBeganAt === undefined)
    return abortedAt === undefined ? 'its handler started, and nobody told it to end' : undefined
  if (ended !== undefined && endedAt !== undefined && endedAt < holder.stopBeganAt && abortedAt === undefined)
    return `its handler ${ended} before its worker began to stop`
  return undefined
}

/** A handler that returned in time did not fail, whatever became of its settlement; nor did one that still has time. */
function failedFairly(lease: LeaseRecord, elapsed: number): string | undefined {
  const { startedAt = 0, endedAt = elapsed, ended, policy, hasExtended, isComplete } = lease
  if (isComplete) return 'its handler said that it has completed'
  if (hasExtended || endedAt - startedAt >= policy.timeoutMs || hadItsTime(lease, endedAt)) return undefined
  if (ended === 'returned') return 'its handler returned in time'
  if (ended === 'snoozed') return 'its handler snoozed'
  return ended === undefined ? 'its handler still runs, and has time' : undefined
}

/** A schema that takes its time may use up the handler's. */
function hadItsTime({ isSchemaSlow, grantedAt, policy }: LeaseRecord, elapsed: number): boolean {
  return isSchemaSlow && elapsed - grantedAt >= policy.timeoutMs
}

function handlerOf({ startedAt, ended }: LeaseRecord): string {
  return ended ?? (startedAt === undefined ? 'never started' : 'still runs')
}
