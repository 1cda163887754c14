/** What an engine is given when it is made. */
import type { Clock } from '../clock.ts'
import type { Logger } from '../core/log.ts'
import type { Random } from '../random.ts'

export type StoreContext = {
  /** Queues in one store share nothing. */
  readonly queue: string
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
}
