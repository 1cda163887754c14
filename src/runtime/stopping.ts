/**
 * Stopping, in seven steps, each guarded on its own: one that fails or hangs never prevents the next, and the report
 * says so.
 *
 *   1 quiet     no new claims: first, so that nothing comes in behind our back        5 s
 *   2 give back what was fetched but not started: others can have it at once
 *   3 finish    running handlers may end                                              until `timeout`
 *   4 abort     their signals abort, with a short grace                               1 s
 *   5 abandon   what still runs is given back, not failed: it is not the message's fault
 *   6 settle    the last outcomes reach the store, and what a late claim brought; only
 *               then may leases be left alone                                         2 s
 *   7 close     the store's connections, last, because everything above needs them     2 s
 *
 * So `stop` ends at most `timeout` + 5 s after it began, whatever handlers, store or network do (P11).
 */
import { endsWithin, type Clock } from '../clock.ts'
import { formatDuration } from '../core/input/duration.ts'
import { ABORT_GRACE_MS, type Consumers } from './consumers.ts'

const QUIET_CAP_MS = 5_000
const SETTLE_CAP_MS = 2_000
const CLOSE_CAP_MS = 2_000

/** What `stop` may take beyond its timeout. */
export const STOP_OVERTIME_MS = ABORT_GRACE_MS + SETTLE_CAP_MS + CLOSE_CAP_MS

export type StopReport = {
  /** Handlers that ended while we waited, whatever their outcome. */
  readonly finished: number
  /** Messages given back before their handler started. */
  readonly released: number
  /** Handlers that had not ended when we gave up on them; their messages were given back too. */
  readonly abandoned: number
  /** What went wrong on the way; empty when all went well. */
  readonly errors: readonly string[]
  readonly durationMs: number
}

export type Stoppable = {
  readonly clock: Clock
  /** Undefined for a queue that never started. */
  readonly consumers: Consumers | undefined
  /** Ends the claims. */
  readonly quiet: () => Promise<unknown>
  /** Sends the last outcomes. */
  readonly settle: () => Promise<unknown>
  /** Ends what `settle` could not. */
  readonly endSettling: () => void
  readonly close: () => Promise<unknown>
}

/** `hurry` aborts to skip the wait for running handlers. Never rejects. */
export async function stopInOrder(
  parts: Stoppable,
  timeoutMs: number,
  hurry: AbortSignal,
): Promise<StopReport> {
  const { clock, consumers } = parts
  const startedAt = clock.monotonic()
  const before = consumers?.counts ?? { ended: 0, returned: 0 }
  const errors: string[] = []
  const guard = async (step: string, capMs: number, action: () => Promise<unknown>): Promise<void> => {
    try {
      const isDone = await endsWithin(clock, capMs, action())
      if (!isDone) errors.push(`${step}: not done within ${formatDuration(Math.round(capMs))}`)
    } catch (error) {
      errors.push(`${step}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }

  await guard('quiet', Math.min(QUIET_CAP_MS, timeoutMs), parts.quiet)
  consumers?.close()
  let abandoned = 0
  let finished = 0
  if (consumers !== undefined) {
    const leftMs = Math.max(0, timeoutMs - (clock.monotonic() - startedAt))
    await endsWithin(clock, leftMs, Promise.race([consumers.whenIdle(), whenAborted(hurry)]))
    if (consumers.running > 0) {
      consumers.abortAll()
      await endsWithin(clock, ABORT_GRACE_MS, consumers.whenIdle())
    }
    abandoned = consumers.abandonAll()
    finished = consumers.counts.ended - before.ended // Now: one that was left behind and ends later counts as left behind.
  }
  await guard('settle', SETTLE_CAP_MS, parts.settle)
  parts.endSettling()
  await guard('close', CLOSE_CAP_MS, parts.close)
  return {
    finished,
    released: (consumers?.counts.returned ?? 0) - before.returned, // Now: the last claim may have brought some late.
    abandoned,
    errors,
    durationMs: clock.monotonic() - startedAt,
  }
}

export function whenAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
