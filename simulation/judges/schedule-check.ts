/**
 * P13, at the end: of every schedule, each occurrence since it was set has become a message, and its own count says so.
 * That none became two is judged when they are stored.
 */
import { scheduleId, occurrenceId, decodeSchedule } from '../../src/core/recurrence/spec.ts'
import { BEGINS_AT, type World } from '../world/world.ts'

export function checkSchedules({ ledger, plan, violations }: World): void {
  for (const { name, everyMs, startMs, times } of plan.schedules) {
    const known = ledger.find(scheduleId(name))
    if (known === undefined) continue
    const progress = decodeSchedule(JSON.parse(known.message.body))?.progress
    const moments = Array.from({ length: times }, (_, k) => BEGINS_AT + startMs + k * everyMs)
    const fired = moments.filter((at) => ledger.wasStored(occurrenceId(name, at)))
    const setAt = ledger.firstStoredAt(scheduleId(name)) ?? Infinity
    const missing = moments.filter((at) => at > setAt && !fired.includes(at))
    if (missing.length > 0)
      violations.add(
        'P13',
        `${name}: ${missing.length} occurrences are missing, of ${fired.length + missing.length}`,
      )
    if (progress?.fired !== fired.length || progress.skipped !== 0)
      violations.add(
        'P13',
        `${name}: ${fired.length} fired; it says ${progress?.fired} fired, ${progress?.skipped} skipped`,
      )
  }
}
