/**
 * What is remembered of a message that is done, as it lies among the payloads:
 *
 *   = until  dueAt  firstDueAt (0: the same)  attempts  producedAt (7 digits), priority  line feed  outcome  topic  line feed  result
 *
 * The script writes the first line, from what it knows of the message; the client the rest.
 */
import { numberOf } from '../../../core/encoding/digits.ts'
import type { RememberedOutcome } from '../../../core/message.ts'
import type { StoredMessage } from '../../contract/store.ts'
import { momentOf } from './moments.ts'

type Told = { readonly topic: string; readonly outcome: RememberedOutcome; readonly result: string }

/** No topic has a control character. */
export function encodeRemembered({ topic, outcome, result }: Told): string {
  return `${outcome} ${topic}\n${result}`
}

/** What cannot be read shows as little as there is. */
export function decodeRemembered(
  id: string,
  value: string,
): Omit<StoredMessage, 'owner' | 'leasedAt' | 'tags'> {
  const [known = '', told = '', ...rest] = value.slice(1).split('\n')
  const [until = '', due = '', firstDue = '', attempts = '', produced = ''] = known.split(' ')
  const dueAt = momentOf(due)
  const priority = Number(produced[7])
  return {
    id,
    topic: told.slice(told.indexOf(' ') + 1),
    body: '',
    meta: '',
    priority: priority === 0 || priority === 2 ? priority : 1,
    state: 'completed',
    dueAt,
    firstDueAt: momentOf(firstDue) || dueAt,
    producedAt: numberOf(produced.slice(0, 7)),
    attempt: Number(attempts) || 0,
    lapses: 0,
    error: '',
    reason: '',
    until: momentOf(until),
    outcome: told.startsWith('skipped ') ? 'skipped' : 'completed',
    result: rest.join('\n'),
  }
}
