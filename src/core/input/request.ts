/** What a caller asks for in `produce` and `reschedule`, checked and normalised. */
import { encodePolicy, type MessagePolicy } from '../encoding/codec.ts'
import { parseDuration, parseFutureMoment, type Duration, type Moment } from './duration.ts'
import { UsageError, describe } from '../errors.ts'
import type { IfExpired } from '../machines/outcome.ts'
import {
  parseLocalTime,
  parseWorkdays,
  type LocalTime,
  type SaidMoment,
  type SaidWhen,
  type Workdays,
} from '../windows/local.ts'
import { neverOpens, type WindowBook, type Windows, type Within } from '../windows/windows.ts'
import { PRIORITIES, priorityRank, type Priority, type PriorityRank } from '../message.ts'
import { checkNewId, checkNewKey, checkTags, isName } from './names.ts'
import { checkRecord, parseOneOf } from './checks.ts'
import { parseRetry, parseTimeout, type RetryOptions } from './handle-options.ts'

/** When: after a time, at a moment, or so many working days on. One of them; none means now. */
export type When =
  | { delay?: Duration | undefined; at?: never; after?: never }
  | { at?: Moment | LocalTime | undefined; delay?: never; after?: never }
  | { after?: Workdays | undefined; delay?: never; at?: never }

export type ProduceOptions = MessageOptions & {
  /** What to do when the id exists: leave it (default), replace it, or fail. One that runs is replaced when it ends. */
  ifExists?: IfExists
}

/** As for `produce`; what exists cannot make the attempt fail. */
export type FollowUpOptions = MessageOptions & { ifExists?: Exclude<IfExists, 'fail'> }

export type MessageOptions = When & {
  /** With `ifExists: 'replace'`: replacing again and again postpones it no longer than this, from the first time on. */
  latest?: Duration
  /** Your own id makes producing idempotent. 1 to 200 bytes. */
  id?: string
  /**
   * Messages that share it are handed out in order, also where a queue is spread over partitions: their generated ids begin
   * with it in braces, `{customer-7}…`, and share a home. 1 to 150 bytes without braces. With an id of your own, write
   * the braces yourself.
   */
  orderBy?: string
  /** What it belongs to, to be found by: one text or up to 4, each of 1 to 200 bytes. */
  tag?: string | readonly string[]
  /**
   * Whose it is, for instance a customer's number: messages of one topic take turns by key, so that a flood of one key delays
   * no other, and `limit(topic, { perKey })` bounds each. 1 to 200 bytes.
   */
  key?: string
  priority?: Priority
  /** Not started within this time after it is due: see `ifExpired`. */
  ttl?: Duration
  /** `dead` (default): to the dead letters, reason "expired". `skip`: completed without having run, event `skipped`. */
  ifExpired?: IfExpired
  /** Due later by a share of this time, which depends on the id alone: what would all be due at once is spread out. */
  spread?: Duration
  /**
   * It starts only there: what is due outside is moved to the next opening. Then a `delay` becomes a moment by the clock of this
   * process, and `spread` ends with the window.
   */
  within?: Within
  /**
   * After it is done, its id stays taken this long, and `get` shows how it ended and what its handler returned (up to
   * 16 KiB as JSON).
   */
  remember?: Duration
  /** Overrides the topic's and the queue's. */
  retry?: RetryOptions
  /** Overrides the topic's and the queue's. */
  timeout?: Duration
}

export type IfExists = 'keep' | 'replace' | 'fail'

/** In so many milliseconds, or at that moment. */
export type DueMoment = { readonly delayMs: number } | { readonly at: number }

export type ParsedProduce = {
  readonly id: string | undefined
  /** What a generated id begins with. */
  readonly idPrefix: string
  readonly when: DueMoment
  readonly ifExists: IfExists
  readonly latestMs: number | undefined
  readonly priority: PriorityRank
  readonly spreadMs: number
  readonly tags: readonly string[]
  readonly key: string | undefined
  readonly meta: string
}

const NO_TAGS: readonly string[] = []
const NOW: DueMoment = { delayMs: 0 }
const PLAIN: ParsedProduce = {
  id: undefined,
  idPrefix: '',
  when: NOW,
  ifExists: 'keep',
  latestMs: undefined,
  priority: 1,
  spreadMs: 0,
  tags: NO_TAGS,
  key: undefined,
  meta: '',
}
const PRODUCE_KEYS = [
  'delay',
  'at',
  'after',
  'within',
  'id',
  'orderBy',
  'ifExists',
  'latest',
  'tag',
  'key',
  'priority',
  'ttl',
  'ifExpired',
  'remember',
  'spread',
  'retry',
  'timeout',
] as const

/** What parsing goes by: this process's clock, and the calendars of its queue. */
export type ParseContext = { readonly now: number; readonly book: WindowBook }

export function parseProduce(options: unknown, context: ParseContext): ParsedProduce {
  return options === undefined ? PLAIN : parsedOptions(checkRecord(options, 'options', PRODUCE_KEYS), context)
}

const ENTRY_KEYS = ['topic', 'payload', ...PRODUCE_KEYS] as const

/** One entry of `produceMany`: options that also name topic and payload, which the caller reads itself. */
export function parseEntry(entry: unknown, context: ParseContext): ParsedProduce {
  return parsedOptions(checkRecord(entry, 'a message', ENTRY_KEYS), context)
}

function parsedOptions(
  given: Partial<Record<(typeof PRODUCE_KEYS)[number], unknown>>,
  context: ParseContext,
): ParsedProduce {
  const { when, spreadMs, told } = place(given, context)
  const tags = given.tag === undefined ? NO_TAGS : checkTags(given.tag)
  return {
    id: given.id === undefined ? undefined : checkNewId(given.id),
    idPrefix: given.orderBy === undefined ? '' : parseOrderBy(given.orderBy, given.id),
    when,
    ifExists:
      given.ifExists === undefined
        ? 'keep'
        : parseOneOf(given.ifExists, 'ifExists', ['keep', 'replace', 'fail']),
    latestMs: given.latest === undefined ? undefined : parseLatest(given.latest, given.ifExists),
    priority:
      given.priority === undefined ? 1 : priorityRank(parseOneOf(given.priority, 'priority', PRIORITIES)),
    spreadMs,
    tags,
    key: given.key === undefined ? undefined : checkNewKey(given.key),
    meta: parsePolicy(given, told, tags),
  }
}

/** Its moment, and what its policy tells of how it was said: fields of JSON, '' for nearly all. */
type Placed = SpreadMoment & { readonly told: string }

type PlaceOptions = Partial<Record<'delay' | 'at' | 'after' | 'within' | 'spread', unknown>>

/** As a policy tells it; refused where it does not open within a year. */
export function parseWithin(within: unknown, { now, book }: ParseContext): string {
  const windows = book.read(within)
  openingOf(windows, within, now)
  return windows.told
}

function openingOf(windows: Windows, within: unknown, asked: number): number {
  const opening = windows.opening(asked)
  if (opening === undefined) throw neverOpens(within)
  return opening.at
}

/** A window moves it to its opening, and ends a spread. */
function place(given: PlaceOptions, { now, book }: ParseContext): Placed {
  const { when, said } = parseWhen(given, now, book)
  const spreadMs = given.spread === undefined ? 0 : parseDuration(given.spread, 'spread')
  const saidText = said === undefined ? '' : `"said":${JSON.stringify(said)}`
  if (given.within === undefined) return { when, spreadMs, told: saidText }
  const windows = book.read(given.within)
  const asked = 'at' in when ? when.at : Math.ceil(now + when.delayMs)
  const at = openingOf(windows, given.within, asked)
  const told = at === asked ? windows.told : `${windows.told},"movedFrom":${asked}`
  return {
    when: { at },
    spreadMs: spreadMs === 0 ? 0 : Math.min(spreadMs, windows.closing(at) - at),
    told: saidText === '' ? told : `${saidText},${told}`,
  }
}

/** The policy options of a message, as text, with what else is told there. */
export function parsePolicy(
  given: Partial<Record<(typeof POLICY_KEYS)[number], unknown>>,
  told = '',
  tags: readonly string[] = NO_TAGS,
): string {
  const { ttl, ifExpired, remember, retry, timeout } = given
  if (ttl === undefined && ifExpired === undefined && remember === undefined)
    if (retry === undefined && timeout === undefined && tags.length === 0)
      return told === '' ? '' : `{${told}}` // Nearly all.
  const policy: MessagePolicy = {
    ...(tags.length === 0 ? {} : { tags }),
    ...(ttl === undefined ? {} : { ttlMs: parseDuration(ttl, 'ttl') }),
    ...(isSkipped(ifExpired, ttl) ? { ifExpired: 'skip' } : {}),
    ...(remember === undefined ? {} : { rememberMs: parseDuration(remember, 'remember') }),
    ...(retry === undefined ? {} : { retry: parseRetry(retry) }),
    ...(timeout === undefined ? {} : { timeoutMs: parseTimeout(timeout) }),
  }
  const text = encodePolicy(policy)
  return told === '' ? text : `${text.slice(0, -1)},${told}}`
}

const ORDER_BY_BYTES_MAX = 150

function parseOrderBy(orderBy: unknown, id: unknown): string {
  if (id !== undefined) {
    throw new UsageError(
      'OPTION_INVALID',
      `orderBy is ${describe(orderBy)} and id is ${describe(id)}; it begins generated ids: leave out one of them, or begin your id with it in braces.`,
      { value: { orderBy, id } },
    )
  }
  if (isName(orderBy, ORDER_BY_BYTES_MAX) && !/[{}]/.test(orderBy)) return `{${orderBy}}`
  throw new UsageError(
    'OPTION_INVALID',
    `orderBy is ${describe(orderBy)}; give a text of 1 to ${ORDER_BY_BYTES_MAX} bytes without braces and control characters.`,
    { value: orderBy },
  )
}

function parseLatest(latest: unknown, ifExists: unknown): number {
  if (ifExists === 'replace') return parseDuration(latest, 'latest')
  throw new UsageError('OPTION_INVALID', 'latest bounds replacing; it goes with ifExists "replace".', {
    value: latest,
  })
}

export const POLICY_KEYS = ['ttl', 'ifExpired', 'remember', 'retry', 'timeout'] as const

function isSkipped(ifExpired: unknown, ttl: unknown): boolean {
  if (ifExpired === undefined) return false
  const parsed = parseOneOf(ifExpired, 'ifExpired', ['dead', 'skip'])
  if (ttl !== undefined) return parsed === 'skip'
  throw new UsageError('OPTION_INVALID', `ifExpired is "${parsed}" without a ttl; give both.`, {
    value: ifExpired,
  })
}

type AskedMoment = { readonly when: DueMoment; readonly said?: SaidWhen }

function parseWhen({ delay, at, after }: PlaceOptions, now: number, book: WindowBook): AskedMoment {
  if (at === undefined && after === undefined)
    return { when: delay === undefined ? NOW : { delayMs: parseDuration(delay, 'delay') } }
  if (delay !== undefined || (at !== undefined && after !== undefined))
    throw severalMoments({ delay, at, after })
  if (after !== undefined) return checkedMoment(parseWorkdays(after, book, now), 'after', now)
  if (isLocal(at)) return checkedMoment(parseLocalTime(at, now), 'at', now)
  return { when: { at: parseFutureMoment(at, 'at', now) } }
}

function severalMoments(moments: PlaceOptions): UsageError {
  const given = Object.entries(moments).filter(([, value]) => value !== undefined)
  const said = given.map(([name, value]) => `${name} is ${describe(value)}`).join(' and ')
  return new UsageError('DELAY_AND_AT', `${said}; give one of them.`, { value: Object.fromEntries(given) })
}

function isLocal(at: unknown): boolean {
  return typeof at === 'object' && at !== null && !(at instanceof Date)
}

function checkedMoment({ at, said }: SaidMoment, name: string, now: number): AskedMoment {
  return { when: { at: parseFutureMoment(at, name, now) }, said }
}

/** A moment, and how far from it each message may be due. */
export type SpreadMoment = { readonly when: DueMoment; readonly spreadMs: number }

/** What `reschedule` takes. */
export type RescheduleOptions = When & { spread?: Duration }

/** For `reschedule`, where "now" must be said: a forgotten option would start the message at once. */
export function parseReschedule(options: unknown, context: ParseContext): SpreadMoment {
  const given = checkRecord(options, 'options', ['delay', 'at', 'after', 'spread'])
  if (given.delay === undefined && given.at === undefined && given.after === undefined) {
    throw new UsageError(
      'OPTION_INVALID',
      'reschedule needs { delay }, { at } or { after }; for now use { delay: 0 }.',
      {
        value: options,
      },
    )
  }
  const { when, spreadMs } = place(given, context)
  return { when, spreadMs }
}

/** The most messages that one `produceMany` takes. */
export const PRODUCE_MANY_MAX = 10_000

export function checkEntries(entries: unknown): void {
  if (!Array.isArray(entries)) {
    throw new UsageError(
      'OPTION_INVALID',
      `produceMany got ${describe(entries)}; give an array of messages.`,
      {
        value: entries,
      },
    )
  }
  if (entries.length > PRODUCE_MANY_MAX) {
    throw new UsageError(
      'BATCH_TOO_LARGE',
      `${entries.length} messages in one call; allowed: ${PRODUCE_MANY_MAX}.`,
      {
        value: entries.length,
      },
    )
  }
  const bad = entries.findIndex((entry) => typeof entry !== 'object' || entry === null)
  if (bad === -1) return
  const value: unknown = entries[bad]
  throw new UsageError(
    'OPTION_INVALID',
    `message ${bad} is ${describe(value)}; give { topic, payload, ... }.`,
    { value },
  )
}
