/** Under which names the parts of a queue stand in Nest's container. */
import { DEFAULT_QUEUE } from '../../queue/settings.ts'

/** Of the queue itself: for `app.get(queueToken('mail'))` and `overrideProvider(queueToken('mail'))`. */
export function queueToken(queue = DEFAULT_QUEUE): string {
  return `PunctualQueue:${queue}`
}

/** Of what `forRoot` was given, or what the factory of `forRootAsync` made. */
export function optionsToken(queue: string): string {
  return `PunctualOptions:${queue}`
}

/** Of the clock of a test; nothing stands there outside of tests. */
export const TEST_CLOCK = 'PunctualTestClock'
