/** What an engine can do, as data: the runtime and the conformance suite read it. */

export type Capabilities = {
  readonly engine: string
  /** What an accepted message survives. */
  readonly durability: 'process' | 'disk' | 'server' | 'replicas'
  /** Whether other processes may work on the same queue. */
  readonly shared: boolean
  /**
   * `sure`: no wake-up is ever lost, so that an idle worker need not look again on its own. `hint`: one may be. `some`: one
   * may be, and of many workers only some hear it, so that a worker says when it can take no more (`SleepingAsker`).
   */
  readonly wakes: 'sure' | 'hint' | 'some'
  /** The most entries that one call takes; the engine refuses more with BATCH_TOO_LARGE and trims nothing. */
  readonly batchMax: number
  /**
   * The most bytes that the entries of one call may have together (`sizeOfMessage`, `sizeOfSettlement`). A single entry
   * that is larger still passes alone. Callers cut their batches by it.
   */
  readonly batchBytesMax: number
  /** The most topics that one claim may want; callers with more topics ask in several claims. */
  readonly wantsMax: number
  /**
   * How long before its moment a message should be leased so that the store's answer is there in time. The worker
   * holds it until then. 0 where a claim costs nothing.
   */
  readonly leadMs: number
  /** What not every engine offers. The verbs of an absent feature reject with UNSUPPORTED. */
  readonly features: readonly Feature[]
}

/**
 *   controls      `control`, `controls`; a claim obeys them
 *   limits        `control` with a limit, or a resume over some time
 *   backup        `backup`
 *   transactions  `join`
 *   keys          messages with a key: their turns, `keys`, `control` with `perKey` or a key
 */
export type Feature = 'controls' | 'limits' | 'backup' | 'transactions' | 'keys'
