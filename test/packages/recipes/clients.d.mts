import type { TransactionHandle } from '../src/core/input/transaction.ts'

export type Work = (
  transaction: TransactionHandle,
  statement: (text: string) => Promise<unknown>,
) => Promise<void>

export const CLIENTS: Readonly<Record<string, (url: string, work: Work) => Promise<void>>>
