/**
 * Messages of our own. Their ids and topics begin with a control character, which no user can write: counts, lists and
 * forecasts leave out their topics unless they are asked for by name.
 */
export const CONTROL_MARK = '\u0001'
/** Sorts behind every name of ours, and before every name of a user's. */
export const AFTER_CONTROL = '\u0002'

/** One message for each schedule. */
export const SCHEDULES_TOPIC = `${CONTROL_MARK}schedules`

/** Begins the id of each; its name follows. */
export const SCHEDULE_MARK = `${CONTROL_MARK}schedule:`

/** What is known of a queue that is moved to another store: `queue/moving`. */
export const MOVES_TOPIC = `${CONTROL_MARK}moves`

export function isControl(name: string): boolean {
  return name.charCodeAt(0) === 1
}
