/** What versions before keys and windows would take without keeping it: from the first such message on they are kept out. */
import { SCHEDULES_TOPIC } from '../../core/control.ts'
import type { NewMessage } from '../contract/store.ts'

/** `key`: also that of a limit, which comes without a message. */
export type MarkingMessage = Partial<Pick<NewMessage, 'topic' | 'body' | 'meta'>> & { readonly key?: unknown }

/** Quotes are escaped in a text: only a field of ours looks so. In a schedule, the policy of its occurrences is such a text. */
const WINDOW = '"within":['
const SCHEDULED_ON_DAYS = /\\"within\\":\[|"rhythm":\{[^}]*"(?:days|except)":/

/** It has a key, or a window; or it is a schedule that fires on some days only, or whose occurrences have windows. */
export function needsNewerWorkers({ topic, body = '', meta = '', key }: MarkingMessage): boolean {
  if (key !== undefined || meta.includes(WINDOW)) return true
  return topic === SCHEDULES_TOPIC && SCHEDULED_ON_DAYS.test(body)
}
