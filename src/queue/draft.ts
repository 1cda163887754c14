/** From what `produce` is given to a message: everything that can be said without asking the store or a schema. */
import { decodePayload, encodePayload } from '../core/encoding/codec.ts'
import { UsageError } from '../core/errors.ts'
import { makeId } from '../core/encoding/id.ts'
import { addTrace, type TraceOrigin } from '../core/encoding/trace.ts'
import { checkNewTopic, checkTopic } from '../core/input/names.ts'
import {
  checkEntries,
  parseEntry,
  parseProduce,
  type ParsedProduce,
  type ProduceOptions,
} from '../core/input/request.ts'
import { spreadOut } from '../core/spread.ts'
import { validate } from '../core/input/schema.ts'
import type { Random } from '../random.ts'
import type { Draft } from '../runtime/producer.ts'
import type { ProducedMessages } from '../runtime/telling/tracing.ts'
import type { FollowUpDraft } from '../runtime/runs/follow-ups.ts'
import type { NewMessage } from '../store/contract/store.ts'
import type { Settings } from './settings.ts'

/** So many draws find a home for an id among 1,024 partitions, but for one time in e^40. */
const DRAWS_MAX = 40 * 1_024

/** `isHome`: where the store can only keep it at some homes. */
export function makeDraft(
  settings: Settings,
  topic: unknown,
  payload: unknown,
  options: unknown,
  isHome?: (id: string) => boolean,
): Draft {
  const now = settings.clock.now()
  const parsed = parseProduce(options, { now, book: settings.windows })
  return draftOf(settings, topic, payload, { now, parsed, isHome })
}

type DraftAsked = {
  readonly now: number
  readonly parsed: ParsedProduce
  readonly isHome?: ((id: string) => boolean) | undefined
}

function draftOf(
  settings: Settings,
  topic: unknown,
  payload: unknown,
  { now, parsed, isHome }: DraftAsked,
): Draft {
  const { random, payloadLimit, tracing } = settings
  const { id: ownId, idPrefix, when, ifExists, latestMs, priority, spreadMs, tags, key, meta } = parsed
  const id = ownId ?? drawId(now, random, idPrefix, isHome)
  if (isHome?.(id) === false) throw elsewhere(id)
  // Plain messages have one shape, which every step down to the wire reads quickly; spreads are for the few others.
  const message: NewMessage = {
    id,
    topic: checkNewTopic(checkDeclared(settings, topic)),
    body: encodePayload(payload, payloadLimit),
    meta: addTrace(meta, tracing?.origin()),
    priority,
    when: spreadOut(when, id, spreadMs),
    ifExists: ifExists === 'replace' ? 'replace' : 'keep',
  }
  const isPlain = tags.length === 0 && key === undefined && latestMs === undefined
  return {
    message: isPlain ? message : { ...message, ...rareFields(parsed) },
    ifExists,
    hasOwnId: ownId !== undefined,
    idPrefix,
  }
}

function rareFields({ tags, key, latestMs }: ParsedProduce): Pick<NewMessage, 'tags' | 'key' | 'latestMs'> {
  return {
    ...(tags.length === 0 ? {} : { tags }),
    ...(key === undefined ? {} : { key }),
    ...(latestMs === undefined ? {} : { latestMs }),
  }
}

/** Says where it comes from, unless it is known already. */
export function withOrigin(draft: Draft, origin: TraceOrigin | undefined): Draft {
  if (origin === undefined) return draft
  const { message } = draft
  return { ...draft, message: { ...message, meta: addTrace(message.meta, origin) } }
}

function drawId(
  now: number,
  random: Random,
  prefix: string,
  isHome: ((id: string) => boolean) | undefined,
): string {
  let id = prefix + makeId(now, random.next(), random.next())
  if (isHome === undefined || prefix !== '') return id
  for (let draws = 1; draws < DRAWS_MAX && !isHome(id); draws += 1)
    id = makeId(now, random.next(), random.next())
  return id
}

function elsewhere(id: string): UsageError {
  return new UsageError(
    'ID_INVALID',
    `the follow-up "${id}" lives in another partition than its message, and both are stored in one step; give it no id, or put the same text in braces into both ids: "{customer-7}a", "{customer-7}b".`,
    { value: id },
  )
}

/** Many at once: all are checked before any is stored. */
export async function makeDrafts(
  settings: Settings,
  entries: readonly (ProduceOptions & { readonly topic: string; readonly payload?: unknown })[],
): Promise<Draft[]> {
  checkEntries(entries)
  const context = { now: settings.clock.now(), book: settings.windows }
  const drafts = entries.map((entry) =>
    draftOf(settings, entry.topic, entry.payload, { now: context.now, parsed: parseEntry(entry, context) }),
  )
  if (settings.schemas !== undefined)
    await Promise.all(drafts.map(({ message }) => checkSchema(settings, message)))
  return drafts
}

/** What a trace says of many: their topic where all have the same. Nothing is checked yet. */
export function batchOf(entries: unknown): ProducedMessages {
  const list: readonly unknown[] = Array.isArray(entries) ? entries : []
  const topics = new Set(list.map((entry) => (entry as { topic?: unknown } | null)?.topic))
  const [topic] = topics
  return { count: list.length, ...(topics.size === 1 && typeof topic === 'string' ? { topic } : {}) }
}

/** The payload as the handler will read it: see `core/schema`. */
export async function checkSchema({ schemas }: Settings, { topic, body }: NewMessage): Promise<void> {
  const schema = schemas?.get(topic)
  if (schema !== undefined) await validate(schema, topic, decodePayload(body))
}

/** What `produce` would say to this payload of this topic. */
export async function checkedMessage(
  settings: Settings,
  topic: unknown,
  payload: unknown,
): Promise<Pick<NewMessage, 'topic' | 'body'>> {
  const { message } = makeDraft(settings, topic, payload, undefined)
  await checkSchema(settings, message)
  return { topic: message.topic, body: message.body }
}

export function makeFollowUp(
  settings: Settings,
  topic: unknown,
  payload: unknown,
  options: unknown,
  isHome?: (id: string) => boolean,
): FollowUpDraft {
  const { message, ifExists } = makeDraft(settings, topic, payload, options, isHome)
  if (ifExists === 'fail')
    throw new UsageError(
      'OPTION_INVALID',
      'ifExists of a follow-up is "fail"; what exists cannot undo the work of a handler, so use "keep" or "replace".',
      { value: ifExists },
    )
  return {
    message,
    checked: settings.schemas === undefined ? undefined : checkSchema(settings, message),
  }
}

/** A topic that may be used: where topics are declared, one of those. */
export function checkDeclared({ schemas }: Settings, value: unknown): string {
  const topic = checkTopic(value)
  if (schemas === undefined || schemas.has(topic)) return topic
  throw new UsageError(
    'TOPIC_UNKNOWN',
    `"${topic}" is not declared; there are: ${[...schemas.keys()].join(', ')}.`,
    { value },
  )
}
