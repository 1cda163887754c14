/** What handlers may use. */
import type { Clock } from '../../clock.ts'
import type { Logger } from '../../core/log.ts'
import type { Random } from '../../random.ts'
import type { Access } from './access/access.ts'
import type { Places } from './access/places.ts'
import type { Signer } from './access/signing.ts'
import type { Audit } from './access/audit.ts'
import type { Confirmations } from './bulk/confirmations.ts'
import type { ServedQueues } from './served.ts'

export type ServerLimits = {
  /** Of a body with a single message, beside the payload limit of its queue. */
  readonly envelopeBytes: number
  readonly batchBytes: number
  readonly batchEntries: number
}

export type ServerParts = {
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly basePath: string
  readonly startedAt: number
  /** Where the messages are kept, without a password. */
  readonly storeName: string
  readonly limits: ServerLimits
  readonly queues: ServedQueues
  readonly access: Access
  readonly signer: Signer
  readonly confirmations: Confirmations
  readonly audit: Audit
  /** Of live events. */
  readonly listeners: Places
  /** Of lease calls that wait. */
  readonly parked: Places
  /** Requests that were answered, by the first digit of their status. */
  readonly answered: readonly number[]
  /** Whether the pages of the dashboard are there to be served. */
  readonly hasDashboard: boolean
  /** Aborts when the server begins to stop. */
  readonly stopping: AbortSignal
}
