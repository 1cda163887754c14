/**
 * One message on its way from a store to another: as it was shown there, in a form that every engine keeps exactly, so that
 * what arrived can be compared with what left.
 */
import { UsageError } from '../../core/errors.ts'
import type { RestoredMessage, StoredMessage } from '../../store/contract/store.ts'

/** Moments become whole milliseconds, never earlier ones (P1): some engines keep fractions, others do not. */
export function recordOf(shown: StoredMessage): RestoredMessage {
  const {
    state,
    owner: _owner,
    leasedAt: _leasedAt,
    isCancelling: _is,
    successor: _successor,
    ...rest
  } = shown
  if (state === 'running')
    throw new UsageError('MOVE_UNFINISHED', `message "${shown.id}" runs again; run the same move again.`)
  return {
    ...rest,
    state,
    dueAt: Math.ceil(shown.dueAt),
    firstDueAt: Math.ceil(shown.firstDueAt),
    producedAt: Math.floor(shown.producedAt),
    until: Math.ceil(shown.until),
    error: storable(shown.error),
    reason: storable(shown.reason),
  }
}

/** Some engines keep no null character; its sign stands for it. */
function storable(text: string): string {
  return text.replaceAll('\0', '\u2400')
}

const COMPARED = [
  'id',
  'topic',
  'body',
  'meta',
  'key',
  'priority',
  'dueAt',
  'firstDueAt',
  'producedAt',
  'attempt',
  'lapses',
  'error',
  'reason',
  'until',
  'outcome',
  'result',
] as const satisfies readonly (keyof RestoredMessage)[]

/** The first thing in which what arrived differs from what left; undefined where nothing does. */
export function differenceOf(left: RestoredMessage, arrived: StoredMessage): string | undefined {
  if (placeOf(left.state) !== placeOf(arrived.state)) return `is ${arrived.state}`
  const field = COMPARED.find((name) => left[name] !== arrived[name])
  if (field !== undefined) return `differs in ${field}`
  return left.tags.join('\n') === arrived.tags.join('\n') ? undefined : 'differs in tags'
}

/** What is delayed here may be ready there: only the clock tells them apart. */
function placeOf(state: StoredMessage['state']): string {
  return state === 'delayed' || state === 'ready' ? 'waiting' : state
}
