/** What a call of `produce` or `produceMany` rejects with. */
import { isUnavailable, UnavailableError, UsageError, type ErrorCode } from '../../core/errors.ts'
import type { Draft } from '../producer.ts'

export type FailedBatch = { readonly drafts: readonly Draft[]; readonly error: unknown }

export function idExists(id: string): UsageError {
  return new UsageError(
    'ID_EXISTS',
    `a message with id "${id}" exists; use another id, or ifExists "keep" or "replace".`,
    { value: id },
  )
}

/** After these it is unknown whether the call took effect. */
const IN_DOUBT: ReadonlySet<unknown> = new Set<ErrorCode>([
  'STORE_UNAVAILABLE',
  'STORE_PROTOCOL',
  'STORE_UNREPLICATED',
])
const WHEN_SAFE =
  'that stays one message as long as the first has not run: give "remember", or a delay longer than you go on trying'

/** What the caller of one message hears: how to produce it again, and when that is safe. */
export function singleFailure(error: unknown, id: string): unknown {
  if (!(error instanceof UnavailableError) || !IN_DOUBT.has(error.code)) return error
  const again = `whether "${id}" is stored is unknown; produce it again with this id (${WHEN_SAFE}).`
  return new UnavailableError(error.code, `${error.message} ${again}`, { value: id, cause: error })
}

const IDS_SHOWN = 5

/** A failure of all is told as it is; of some, with the ids about which nothing is known. */
export function produceFailure(failed: readonly FailedBatch[], total: number): unknown {
  const ids = failed.flatMap(({ drafts }) => drafts.map(({ message }) => message.id))
  const lasting = failed.find(({ error }) => !isUnavailable(error))
  const cause = (lasting ?? failed[0])?.error
  if (lasting !== undefined || ids.length === total) return cause
  const shown = ids.slice(0, IDS_SHOWN).map((id) => `"${id}"`)
  const list = ids.length > IDS_SHOWN ? `${shown.join(', ')} and others` : shown.join(', ')
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new UnavailableError(
    'STORE_PARTIAL',
    `for ${ids.length} of ${total} messages the store did not answer (${list}), the other ${total - ids.length} are stored; produce these again, with the ids in "value" (${WHEN_SAFE}). ${reason}`,
    { value: ids, cause },
  )
}

/** Of many that were produced together, some were refused: the first refusal, and how many there are. */
export function refusalSummary(first: UsageError, refused: number, total: number): UsageError {
  if (total === 1) return first
  const others = `${refused} of ${total} refused, the other ${total - refused} are stored`
  return new UsageError(first.code, `${first.message} (${others}.)`, { value: first.value, cause: first })
}
