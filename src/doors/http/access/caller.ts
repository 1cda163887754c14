/** Who calls, and what they may do. */

export const SCOPES = ['read', 'produce', 'operate', 'work'] as const
/**
 *   read     look at messages, counts, workers
 *   produce  store messages
 *   operate  cancel, move, pause, limit, schedules, bulk
 *   work     lease, extend, settle
 */
export type Scope = (typeof SCOPES)[number]

export type Caller = {
  /** For the audit and for limits. */
  readonly name: string
  readonly scopes: readonly Scope[]
  /** Absent: every queue that is served. */
  readonly queues?: readonly string[]
  /** Absent: every topic. */
  readonly topicPrefix?: string
  /** Epoch milliseconds. */
  readonly expiresAt?: number
}

/** No token is needed: the server answers to this machine alone. */
export const LOCAL: Caller = { name: 'local', scopes: SCOPES }

/** A caller without a name, for routes that need no token. */
export const ANYBODY: Caller = { name: 'anybody', scopes: [] }

export function mayUseQueue({ queues }: Caller, queue: string): boolean {
  return queues === undefined || queues.includes(queue)
}

export function mayUseTopic({ topicPrefix }: Caller, topic: string): boolean {
  return topicPrefix === undefined || topic.startsWith(topicPrefix)
}

/** Payloads, and whatever tells of them. */
export function mayRead({ scopes }: Caller): boolean {
  return scopes.includes('read')
}
