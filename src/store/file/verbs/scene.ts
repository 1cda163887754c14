/** What a verb works with. One that writes has a ledger as well, and runs inside a transaction. */
import type { NewMessage } from '../../contract/store.ts'
import type { Database } from '../database/database.ts'
import type { Ledger } from '../database/ledger.ts'
import type { KeyTurns } from '../keys/turns.ts'

export type View = {
  readonly db: Database
  /** Its number; NO_QUEUE while nothing was ever written to it. */
  readonly queue: number
  readonly queueName: string
  readonly now: number
}

export type LedgerScene = View & { readonly ledger: Ledger }

export type Scene = LedgerScene & {
  /** Whose turn it is: told whatever changes what a key has waiting or running. */
  readonly turns: KeyTurns
  /** Whether the disk has room for new messages. */
  readonly hasRoomFor: (messages: readonly NewMessage[]) => boolean
}

/** No row has it, so that a look finds nothing. */
export const NO_QUEUE = -1
