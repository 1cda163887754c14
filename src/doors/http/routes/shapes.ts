/** The shapes that several routes share. Each is what the library's type of the same name holds, as JSON. */
import { MESSAGE_STATES, PRIORITIES } from '../../../core/message.ts'
import { SCOPES } from '../access/caller.ts'
import { momentOrLocal, SAID, WINDOW, within, workdays } from '../schema/local.ts'
import { named } from '../schema/named.ts'
import {
  anything,
  duration,
  either,
  flag,
  list,
  literal,
  mapOf,
  moment,
  number,
  object,
  oneOf,
  optional,
  text,
  whole,
  type Shape,
} from '../schema/schema.ts'

const RETRY = named(
  'Retry',
  object({
    limit: optional(whole({ min: 0 })),
    delays: optional(list(duration(), { max: 1_000 })),
    exponential: optional(
      object({
        base: duration(),
        factor: optional(number()),
        cap: optional(duration()),
        jitter: optional(number()),
      }),
    ),
  }),
)

const PRIORITY = oneOf(...PRIORITIES)

/** What a message may ask for, without topic, payload and id. */
export const MESSAGE_FIELDS = {
  delay: optional(duration()),
  at: optional(momentOrLocal()),
  after: optional(workdays()),
  within: optional(within()),
  tag: optional(either(text(), list(text(), { max: 4 }))),
  key: optional(text({ about: 'whose it is: messages of a topic take turns by key' })),
  priority: optional(PRIORITY),
  ttl: optional(duration()),
  ifExpired: optional(oneOf('dead', 'skip')),
  spread: optional(duration()),
  remember: optional(duration()),
  ifExists: optional(oneOf('keep', 'replace', 'fail')),
  latest: optional(duration()),
  retry: optional(RETRY),
  timeout: optional(duration()),
}

export const PRODUCE = named(
  'Produce',
  object({
    topic: text(),
    payload: optional(anything('any JSON; numbers beyond 2^53 survive only when the payload is sent alone')),
    id: optional(text()),
    ...MESSAGE_FIELDS,
  }),
)

export const PRODUCED_FIELDS = { id: text(), outcome: oneOf('stored', 'kept', 'replaced') }
export const PRODUCED = named('Produced', object(PRODUCED_FIELDS))

const SUCCESSOR = object({
  topic: text(),
  payload: optional(anything()),
  priority: PRIORITY,
  tags: optional(list(text())),
  key: optional(text()),
  dueAt: number(),
  producedAt: optional(number()),
  unreadable: optional(text()),
})

const MESSAGE_SHOWN = {
  id: text(),
  topic: text(),
  state: oneOf(...MESSAGE_STATES, 'completed'),
  priority: PRIORITY,
  tags: optional(list(text())),
  key: optional(text()),
  dueAt: number(),
  firstDueAt: number(),
  producedAt: optional(number()),
  attempt: whole({ min: 0 }),
  lapses: whole({ min: 0 }),
  ttlMs: optional(number()),
  timeoutMs: optional(number()),
  rememberMs: optional(number()),
  within: optional(list(WINDOW)),
  said: optional(SAID),
  movedFrom: optional(number()),
  retry: optional(RETRY),
  error: optional(text()),
  errorMessage: optional(text({ about: 'what `error` says, without its stack' })),
  leaseEndsAt: optional(number()),
  owner: optional(text()),
  runningSince: optional(number()),
  isCancelling: optional(literal(true)),
  successor: optional(SUCCESSOR),
  reason: optional(text()),
  diedAt: optional(number()),
  outcome: optional(oneOf('completed', 'skipped')),
  result: optional(anything()),
  rememberedUntil: optional(number()),
  payloadBytes: whole({ min: 0 }),
  payload: optional(anything('as it is stored')),
  preview: optional(text({ about: 'the first 200 characters of the stored text' })),
  unreadable: optional(text()),
}

export const MESSAGE = named('Message', object(MESSAGE_SHOWN))

export const MESSAGE_DETAIL = named(
  'MessageDetail',
  object({
    ...MESSAGE_SHOWN,
    payloadText: text({ about: 'exactly as it is stored' }),
    policy: optional(anything('what this message asks for beyond its queue and topic')),
  }),
)

/** Of a store that is spread over partitions: those that did not answer. What they hold is not in the answer. */
export const MISSING = optional(list(text()))

export const MESSAGE_PAGE = named(
  'MessagePage',
  object({ items: list(MESSAGE), cursor: optional(text()), looked: whole({ min: 0 }), missing: MISSING }),
)

/** The parts of a filter, and of a list. */
export const SEARCH_FIELDS = {
  state: optional(oneOf(...MESSAGE_STATES)),
  topic: optional(text()),
  tag: optional(text()),
  key: optional(text()),
  olderThan: optional(duration()),
  dueFrom: optional(moment()),
  dueUntil: optional(moment()),
  idPrefix: optional(text()),
  text: optional(text()),
}

const ALLOWANCE = { rate: optional(text()), burst: optional(number()), concurrency: optional(number()) }

export const CONTROL = named(
  'Control',
  object({
    topic: optional(text()),
    paused: optional(object({ until: optional(number()) })),
    limit: optional(object({ ...ALLOWANCE, perKey: optional(object(ALLOWANCE)) })),
    hasKeyLimits: optional(literal(true)),
    over: optional(object({ rate: text(), until: number() })),
  }),
)

export const KEY = named(
  'Key',
  object({
    key: text(),
    waiting: whole({ min: 0 }),
    running: whole({ min: 0 }),
    turnAt: optional(number()),
    rateAt: optional(number()),
    held: optional(object({ id: text(), dueAt: number() })),
    limit: optional(object({ ...ALLOWANCE, weight: optional(number()) })),
  }),
)

export const KEY_PAGE = object({ keys: list(KEY), cursor: optional(text()), missing: MISSING })

export const CONTROLS = object({ controls: list(CONTROL) })

const ENDED = { completed: number(), failed: number(), dead: number(), skipped: number() }
export const ENDED_TOTALS = named('EndedTotals', object(ENDED))

export const TOPIC_COUNTS = named(
  'TopicCounts',
  object({ waiting: number(), running: number(), dead: number(), nextDueAt: optional(number()) }),
)

export const LATENESS = named('Lateness', object({ p50: number(), p99: number(), max: number() }))

export const OVERDUE = named(
  'OverdueTopic',
  object({ topic: text(), oldestDueAt: number(), workers: optional(number()) }),
)

export const STATS = named(
  'Stats',
  object({
    now: number(),
    counts: object({ delayed: number(), ready: number(), running: number(), dead: number() }),
    topics: mapOf(TOPIC_COUNTS),
    moreTopics: flag(),
    overdue: list(OVERDUE),
    controls: list(CONTROL),
    nextDueAt: optional(number()),
    recent: object({
      ...ENDED,
      since: number(),
      perMinute: ENDED_TOTALS,
      topics: mapOf(ENDED_TOTALS),
      otherTopics: optional(ENDED_TOTALS),
    }),
    latenessMs: optional(LATENESS),
    missing: MISSING,
  }),
)

export const WORKER = named(
  'Worker',
  object({
    owner: text(),
    state: oneOf('alive', 'silent', 'gone'),
    firstSeenAt: number(),
    lastSeenAt: number(),
    goneAt: optional(number()),
    pausedTopics: optional(list(text())),
    facts: optional(
      object({
        version: text(),
        host: text(),
        pid: number(),
        startedAt: number(),
        topics: list(text()),
        topicCount: number(),
        running: number(),
        slots: number(),
        perSecond: optional(number()),
      }),
    ),
  }),
)

export const SESSION = named(
  'Session',
  object({
    name: text(),
    scopes: list(oneOf(...SCOPES)),
    isOpen: flag(),
    queues: optional(list(text())),
    topicPrefix: optional(text()),
    expiresAt: optional(number()),
  }),
)

export const AUDIT_ENTRY = named(
  'AuditEntry',
  object({
    at: number(),
    who: text(),
    action: text(),
    queue: text(),
    topic: optional(text()),
    about: text(),
    result: text(),
    count: optional(number()),
  }),
)

export function resultOf<const T extends string>(...results: readonly T[]): Shape<{ readonly result: T }> {
  return object({ result: oneOf(...results) })
}
