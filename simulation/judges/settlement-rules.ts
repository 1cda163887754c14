/**
 * Which settlement is the right one for what happened to a message (P2, P6). Judged from outside: from the lease, and
 * from what its handler was seen doing.
 *
 *   ack      the handler returned
 *   retry    it threw, or had its time; or nobody answered for the lease. Only while attempts are left
 *   dead     it said so, or the attempts are used up; or it was never started because its ttl was over
 *   release  it was never started, or its worker stops
 */
import { assertNever } from '../../src/core/errors.ts'
import type { Settlement } from '../../src/store/contract/store.ts'
import type { Holder, LeaseRecord } from './lease-record.ts'

/** What is wrong with it; undefined when nothing is. `elapsed`: simulated time. */
export function judgeSettlement(
  settlement: Settlement,
  lease: LeaseRecord | undefined,
  holder: Holder,
  elapsed: number,
): string | undefined {
  if (lease === undefined) return 'there never was such a lease'
  if (lease.holder !== holder) return `${holder.name} settles the lease of ${lease.holder.name}`
  switch (settlement.kind) {
    case 'ack':
      return lease.ended === 'returned' ? undefined : `its handler ${handlerOf(lease)}`
    case 'lapse':
      return lease.from === 'lapsed' ? undefined : 'its lease had not lapsed'
    case 'retry':
      if (settlement.isLapse === true && lease.from !== 'lapsed') return 'its lease had not lapsed'
      return judgeRetry(lease, elapsed)
    case 'dead':
      return judgeDead(lease, settlement.reason, elapsed)
    case 'release':
      return judgeRelease(lease)
    default:
      return assertNever(settlement)
  }
}

function judgeRetry(lease: LeaseRecord, elapsed: number): string | undefined {
  const { attempt, policy, from, startedAt } = lease
  if (from === 'lapsed') return undefined // A process without a handler for it knows no limit.
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
    if (reason === 'expired') return attempt === 1 && policy.ttlMs !== undefined ? undefined : 'it has no ttl'
    return attempt > policy.limit + 1 ? undefined : `never started, attempt ${attempt} (${reason})`
  }
  if (ended === 'threw DeadLetter') return undefined
  return attempt > policy.limit
    ? failedFairly(lease, elapsed)
    : `attempt ${attempt} has retries left (${reason})`
}

function judgeRelease({ from, startedAt, endedAt, ended, holder }: LeaseRecord): string | undefined {
  if (from === 'lapsed') return 'a lapse counts as an attempt'
  if (startedAt === undefined) return undefined
  if (holder.stopBeganAt === undefined) return 'its handler started, and its worker does not stop'
  if (ended !== undefined && endedAt !== undefined && endedAt < holder.stopBeganAt)
    return `its handler ${ended} before its worker began to stop`
  return undefined
}

/** A handler that returned in time did not fail, whatever became of its settlement; nor did one that still has time. */
function failedFairly(lease: LeaseRecord, elapsed: number): string | undefined {
  const { startedAt = 0, endedAt = elapsed, ended, policy, hasExtended } = lease
  if (hasExtended || endedAt - startedAt >= policy.timeoutMs || hadItsTime(lease, endedAt)) return undefined
  if (ended === 'returned') return 'its handler returned in time'
  return ended === undefined ? 'its handler still runs, and has time' : undefined
}

/** A schema that takes its time may use up the handler's. */
function hadItsTime({ isSchemaSlow, grantedAt, policy }: LeaseRecord, elapsed: number): boolean {
  return isSchemaSlow && elapsed - grantedAt >= policy.timeoutMs
}

function handlerOf({ startedAt, ended }: LeaseRecord): string {
  return ended ?? (startedAt === undefined ? 'never started' : 'still runs')
}
