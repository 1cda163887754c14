/**
 * A handler completes its message in a transaction of its own: the fenced ack, and what the attempt carries, commit with
 * the handler's own rows or not at all. From then on what the handler returns says nothing: only the store knows whether
 * the transaction was committed. So the end of the attempt is settled as a failure, which finds the message gone where
 * it was.
 */
import { UsageError } from '../../core/errors.ts'
import { checkRecord } from '../../core/input/checks.ts'
import { parseTransaction, type TransactionHandle } from '../../core/input/transaction.ts'
import { hasSlot } from '../../core/machines/run.ts'
import type { JoinedVerbs, LeaseRef, Remember, StoredMessage } from '../../store/contract/store.ts'
import type { Run } from './run.ts'

export type JoiningParts = {
  readonly join: (transaction: TransactionHandle) => Promise<JoinedVerbs>
  readonly find: (id: string) => Promise<StoredMessage | undefined>
}

export async function completeIn(run: Run, parts: JoiningParts, options: unknown): Promise<void> {
  const { transaction } = checkRecord(options, 'options', ['transaction'])
  parseTransaction(transaction)
  if (!hasSlot(run.state)) throw attemptOver(run.lease, 'is over; complete it before the handler ends')
  await run.followUps?.whenChecked()
  if (run.followUps?.failure !== undefined) throw run.followUps.failure.error
  const { id, token, topic } = run.lease
  const followUps = run.followUps?.messages ?? []
  const joined = await parts.join(transaction as TransactionHandle)
  const answer = await joined.complete({
    kind: 'ack',
    isOwnWord: true,
    id,
    token,
    topic,
    ...rememberOf(run),
    ...(followUps.length === 0 ? {} : { followUps }),
  })
  if (answer !== 'settled') {
    // The second call of an attempt, after the commit of the first: what it says of another worker would alarm.
    if (run.isJoined && (await wasCommitted(run, parts))) throw attemptOver(run.lease, 'is completed already')
    throw leaseLost(run.lease)
  }
  run.isJoined = true
}

/** Of a message that the store no longer knows under our lease: whether our transaction took it, or another worker. */
export async function wasCommitted({ lease }: Run, { find }: JoiningParts): Promise<boolean> {
  const found = await find(lease.id)
  // Another message may have the id by now: it has another moment.
  return found === undefined || found.state === 'completed' || found.firstDueAt !== lease.firstDueAt
}

export function uncommitted(): Error {
  return new Error('the handler ended, and the transaction in which it completed was not committed')
}

/** What the handler will return is not known yet. */
function rememberOf({ policy: { rememberMs: ms } }: Run): { readonly remember?: Remember } {
  return ms === undefined ? {} : { remember: { ms, outcome: 'completed', result: '' } }
}

function leaseLost({ topic, id }: LeaseRef): UsageError {
  return new UsageError(
    'LEASE_LOST',
    `the lease of ${topic} ${id} is lost: another worker may have it; roll your transaction back.`,
    { value: id },
  )
}

function attemptOver({ topic, id }: LeaseRef, how: string): UsageError {
  return new UsageError('ATTEMPT_OVER', `the attempt of ${topic} ${id} ${how}.`, { value: id })
}
