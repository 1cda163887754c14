/** What messages are looked for by, in a list and in a filter, checked and normalised. */
import { parseDuration, parseMoment } from './duration.ts'
import { UsageError, describe } from '../errors.ts'
import { checkKey, checkTopic, NAME_BYTES_MAX, isName } from './names.ts'

/** What is looked for, in the words of the contract. */
export type Search = {
  readonly topic?: string
  readonly key?: string
  readonly olderThanMs?: number
  readonly dueFrom?: number
  readonly dueUntil?: number
  readonly idPrefix?: string
  readonly text?: string
}

const TEXT_LENGTH_MAX = 1_000

export function parseSearch(
  given: { readonly [K in Exclude<keyof Search, 'olderThanMs'> | 'olderThan']?: unknown },
  now: number,
): Search {
  const { topic, key, olderThan, dueFrom, dueUntil, idPrefix, text } = given
  return {
    ...(topic === undefined ? {} : { topic: checkTopic(topic) }),
    ...(key === undefined ? {} : { key: checkKey(key) }),
    ...(olderThan === undefined ? {} : { olderThanMs: parseDuration(olderThan, 'olderThan') }),
    ...(dueFrom === undefined ? {} : { dueFrom: parseMoment(dueFrom, 'dueFrom', now) }),
    ...(dueUntil === undefined ? {} : { dueUntil: parseMoment(dueUntil, 'dueUntil', now) }),
    ...(idPrefix === undefined ? {} : { idPrefix: parsePrefix(idPrefix) }),
    ...(text === undefined ? {} : { text: parseText(text) }),
  }
}

function parsePrefix(value: unknown): string {
  if (isName(value, NAME_BYTES_MAX)) return value
  throw new UsageError(
    'ID_INVALID',
    `idPrefix is ${describe(value)}; give a text of 1 to ${NAME_BYTES_MAX} bytes without control characters.`,
    { value },
  )
}

function parseText(value: unknown): string {
  if (typeof value === 'string' && value.length > 0 && value.length <= TEXT_LENGTH_MAX) return value
  throw new UsageError(
    'OPTION_INVALID',
    `text is ${describe(value)}; give a text of 1 to ${TEXT_LENGTH_MAX} characters.`,
    { value },
  )
}
