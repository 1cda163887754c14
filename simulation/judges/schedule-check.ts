/**
 * P13, at the end: of every schedule, each occurrence since it was set has become a message, and its own count says so. Of
 * one that was paused or removed meanwhile: each since it is active again, whatever the edits withdrew.
 * That none became two is judged when they are stored.
 */
import { scheduleId, occurrenceId, decodeSchedule } from '../../src/core/recurrence/spec.ts'
import type { SchedulePlanned } from '../plan.ts'
import { BEGINS_AT, type World } from '../world/world.ts'

export function checkSchedules(world: World): void {
  for (const planned of world.plan.schedules) {
    if (world.ledger.find(scheduleId(planned.name)) === undefined) continue
    if (planned.isEdited) checkEdited(world, planned)
    else checkSteady(world, planned)
  }
}

function momentsOf({ everyMs, startMs, times }: SchedulePlanned): number[] {
  return Array.from({ length: times }, (_, k) => BEGINS_AT + startMs + k * everyMs)
}

function checkSteady({ ledger, violations }: World, planned: SchedulePlanned): void {
  const { name } = planned
  const moments = momentsOf(planned)
  const body = ledger.find(scheduleId(name))?.message.body ?? 'null'
  const progress = decodeSchedule(JSON.parse(body))?.progress
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

function checkEdited({ ledger, scheduleEdits, violations }: World, planned: SchedulePlanned): void {
  const { name } = planned
  const since = scheduleEdits.activeSince(name)
  if (since === undefined) return
  const moments = momentsOf(planned)
  // One that a user moved ahead and that is gone counts as run: an edit skips what lies before it, and says so.
  const movedUntil = moments.findLast((at) => ledger.wasMoved(occurrenceId(name, at))) ?? -Infinity
  const missing = moments.filter((at) => {
    const id = occurrenceId(name, at)
    const withdrawnAt = ledger.withdrawnAt(id)
    // What a user removed is not owed.
    const isWithdrawn = withdrawnAt !== undefined && scheduleEdits.wasUnderWay(name, withdrawnAt)
    return at > Math.max(since, movedUntil) && (!ledger.wasStored(id) || isWithdrawn)
  })
  if (missing.length > 0)
    violations.add(
      'P13',
      `${name}: of what it owes since its last edit, ${missing.length} occurrences are missing`,
    )
}
