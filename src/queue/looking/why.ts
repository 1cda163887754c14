/** Why a message has not started, or what became of it: facts with a name, from which a door makes a sentence. */
import { decodePolicy } from '../../core/encoding/codec.ts'
import { assertNever } from '../../core/errors.ts'
import { isExpired, type IfExpired } from '../../core/machines/outcome.ts'
import type { RememberedOutcome } from '../../core/message.ts'
import type { Store, StoredMessage } from '../../store/contract/store.ts'
import {
  limitsOf,
  pauseOf,
  readControls,
  type ControlsInForce,
  type FoundControl,
} from '../changing/controls.ts'
import { countDueBefore } from './forecast.ts'
import { askWindow, type WindowBook } from '../../core/windows/windows.ts'
import { whyKeyed } from './why-keyed.ts'
import { readKey } from './keys.ts'
import { handlersOf, living, readWorkers, type FoundWorker } from './workers.ts'

/** Newer versions may know more kinds: give a `switch` a default. */
export type Why =
  /** Never produced here, or completed, cancelled or purged. */
  | { readonly kind: 'unknown'; readonly id: string }
  | (WhyAbout & {
      readonly kind: 'not-due'
      /** So that it would not start if it were due. */
      readonly paused?: WhyPaused
      readonly handlers?: TopicHandlers
    })
  /** Its last attempt failed; the next one is due at `dueAt`. */
  | (WhyAbout & {
      readonly kind: 'retry'
      readonly error: string
      readonly lapses: number
      /** Others of this key wait for it, because it runs one at a time. */
      readonly holdsKey?: string
      readonly paused?: WhyPaused
      readonly handlers?: TopicHandlers
    })
  /** It is due, and its topic or the whole queue is paused. */
  | (WhyAbout & WhyPaused & { readonly kind: 'paused'; readonly handlers?: TopicHandlers })
  /** It is due, and the limit of its topic, or of the whole queue, lets no more start now, or so many at a time. */
  | (WhyAbout & {
      readonly kind: 'limited'
      readonly limits: readonly FoundControl[]
      /** How many of its topic run, over all processes. */
      readonly running: number
      readonly before: number
      readonly isExact: boolean
      readonly handlers?: TopicHandlers
    })
  /** It is due, and as many of its key run as may: up to 10 of them. */
  | (WhyAbout &
      WhyKey & {
        readonly kind: 'key-busy'
        readonly running: number
        readonly holders: readonly KeyHolder[]
      })
  /** It is due, and the rate of its key allows no start before then: epoch milliseconds. */
  | (WhyAbout & WhyKey & { readonly kind: 'key-rate'; readonly until: number })
  /** It is due, and a failed message of its key, which runs one at a time, is tried again first, at that moment at the earliest. */
  | (WhyAbout & WhyKey & { readonly kind: 'key-retry'; readonly heldBy: string; readonly until: number })
  /** It is due, and no living worker handles its topic. */
  | (WhyAbout & { readonly kind: 'no-worker'; readonly livingWorkers: number })
  /** It is due, and others of its topic that are due before it still wait. */
  | (WhyAbout & {
      readonly kind: 'in-line'
      /** How many of its topic run, over all processes. */
      readonly running: number
      readonly before: number
      readonly isExact: boolean
      /** Its key, and how many of it stand before it; counted up to 1,000. */
      readonly key?: string
      readonly beforeInKey?: number
      readonly handlers?: TopicHandlers
    })
  /** Since when: epoch milliseconds. */
  | (WhyAbout & WhyBy & { readonly kind: 'running'; readonly since: number; readonly leaseEndsAt: number })
  /** Its lease ended without an answer of its worker: another worker takes it over. */
  | (WhyAbout &
      WhyBy & { readonly kind: 'lapsed'; readonly leaseEndedAt: number; readonly livingWorkers: number })
  /** It is done, and its id is remembered until then. */
  | (WhyAbout & {
      readonly kind: 'completed'
      readonly outcome: RememberedOutcome
      readonly rememberedUntil: number
    })
  | (WhyAbout & {
      readonly kind: 'dead'
      readonly reason: string
      readonly error: string
      readonly diedAt: number
      /** In how many of its last attempts in a row its worker died or was cut off. */
      readonly lapses: number
    })

export type WhyAbout = {
  readonly id: string
  readonly topic: string
  /** Epoch milliseconds. */
  readonly dueAt: number
  /** Attempts so far, with the one that runs. */
  readonly attempt: number
  /** It is due and was not started within its `ttl`: it will not run, whenever a worker gets it. */
  readonly expired?: WhyExpired
  /** It waits, and now is outside its window, which opens then. */
  readonly outside?: WhyOutside
}

/** The moment in epoch milliseconds, and the zone whose clock says so. */
export type WhyOutside = { readonly until: number; readonly zone: string }

/** Since when, in epoch milliseconds, and what the worker that gets it does. */
export type WhyExpired = { readonly since: number; readonly ifExpired: IfExpired }

/** Its topic is paused, or the whole queue (`isWholeQueue`). */
export type WhyPaused = {
  readonly isWholeQueue: boolean
  /** Epoch milliseconds; absent until somebody resumes it. */
  readonly until?: number
}

export type WhyKey = { readonly key: string; readonly beforeInKey: number; readonly handlers?: TopicHandlers }
/** A message of the same key that runs. */
export type KeyHolder = { readonly id: string; readonly owner: string; readonly since: number }

/** Who has it; `worker` unless it has been gone for an hour. */
export type WhyBy = { readonly owner: string; readonly worker?: FoundWorker }

/**
 * The living workers that handle the topic, and what they ran when they last told. One that was killed counts among them
 * until it has been silent for two minutes.
 */
export type TopicHandlers = {
  readonly workers: number
  readonly running: number
  readonly slots: number
  /** When one of them was last heard of: epoch milliseconds, may be a minute old. Absent where there is none. */
  readonly lastSeenAt?: number
}

export async function readWhy(
  store: Store,
  id: string,
  { now, book }: { readonly now: number; readonly book: WindowBook },
): Promise<Why> {
  const [found] = (await store.inspect({ ids: [id] })).items
  if (found === undefined) return { kind: 'unknown', id }
  const { topic, dueAt, attempt, state, error, reason, until } = found
  const about: WhyAbout = { id, topic, dueAt, attempt, ...windowOf(found, book, now) }
  switch (state) {
    case 'dead':
      return { kind: 'dead', ...about, reason, error, diedAt: until, lapses: crashesOf(found) }
    case 'completed':
      return { kind: 'completed', ...about, outcome: found.outcome ?? 'completed', rememberedUntil: until }
    case 'running':
      return whyRunning(store, about, found, now)
    case 'delayed':
      return whyDelayed(store, about, found)
    case 'ready':
      return whyReady(store, { ...about, ...expiryOf(found, now) }, found)
    default:
      return assertNever(state)
  }
}

/** Its worker died or was cut off in so many of its attempts, in a row up to the last: the lapse that killed it included. */
export function crashesOf({ state, reason, lapses }: StoredMessage): number {
  return state === 'dead' && reason === 'lapsed' ? lapses + 1 : lapses
}

async function whyDelayed(
  store: Store,
  about: WhyAbout,
  { key, error, lapses }: StoredMessage,
): Promise<Why> {
  const [workers, controls] = await Promise.all([readWorkers(store), readControls(store)])
  const paused = whyPaused(controls, about.topic)
  const more = {
    ...(paused === undefined ? {} : { paused }),
    ...summary(handlersOf(about.topic, workers)),
  }
  if (about.attempt === 0 || error === '') return { kind: 'not-due', ...about, ...more }
  const isHolding = key !== undefined && (await readKey(store, about.topic, key))?.held?.id === about.id
  return { kind: 'retry', ...about, error, lapses, ...(isHolding ? { holdsKey: key } : {}), ...more }
}

function expiryOf(
  { attempt, lapses, firstDueAt, meta }: StoredMessage,
  now: number,
): Pick<WhyAbout, 'expired'> {
  const { ttlMs, ifExpired = 'dead' } = decodePolicy(meta) ?? {}
  // As it will be when it is claimed, which counts as an attempt.
  const start = { attempt: attempt + 1, lapses, latenessMs: now - firstDueAt, ttlMs }
  if (ttlMs === undefined || !isExpired(start)) return {}
  return { expired: { since: firstDueAt + ttlMs, ifExpired } }
}

/** A window that cannot be read here, for want of a calendar, says nothing. */
function windowOf({ state, meta }: StoredMessage, book: WindowBook, now: number): Pick<WhyAbout, 'outside'> {
  const { within } = decodePolicy(meta) ?? {}
  if (within === undefined || (state !== 'delayed' && state !== 'ready')) return {}
  const answer = askWindow(book, within, now)
  if (answer.kind !== 'closed') return {}
  return { outside: { until: answer.opening.at, zone: answer.opening.zone } }
}

function whyPaused(controls: ControlsInForce, topic: string): WhyPaused | undefined {
  const stopped = pauseOf(controls, topic)
  return stopped && { isWholeQueue: stopped.topic === undefined, ...stopped.paused }
}

async function whyReady(store: Store, about: WhyAbout, found: StoredMessage): Promise<Why> {
  const [workers, controls] = await Promise.all([readWorkers(store), readControls(store)])
  const handlers = handlersOf(about.topic, workers)
  const paused = whyPaused(controls, about.topic)
  if (paused !== undefined) return { kind: 'paused', ...about, ...paused, ...summary(handlers) }
  if (handlers?.length === 0) {
    return { kind: 'no-worker', ...about, livingWorkers: living(workers).length }
  }
  const ofKey = await whyKeyed(store, about, found)
  if (ofKey !== undefined && 'kind' in ofKey) return { ...ofKey, ...summary(handlers) }
  const [{ count, isExact }, { topics }] = await Promise.all([
    countDueBefore(store, about.topic, about.dueAt),
    store.countTopics({ topics: [about.topic] }),
  ])
  const running = new Map(Object.entries(topics)).get(about.topic)?.running ?? 0
  const inLine = { ...about, running, before: count, isExact, ...ofKey, ...summary(handlers) }
  const limits = limitsOf(controls, about.topic)
  return limits.length === 0 ? { kind: 'in-line', ...inLine } : { kind: 'limited', ...inLine, limits }
}

async function whyRunning(
  store: Store,
  about: WhyAbout,
  { owner, leasedAt, until }: StoredMessage,
  now: number,
): Promise<Why> {
  const workers = await readWorkers(store)
  const worker = workers.find((candidate) => candidate.owner === owner)
  const by = { owner, ...(worker === undefined ? {} : { worker }) }
  if (until <= now)
    return { kind: 'lapsed', ...about, ...by, leaseEndedAt: until, livingWorkers: living(workers).length }
  return { kind: 'running', ...about, ...by, since: leasedAt, leaseEndsAt: until }
}

function summary(handlers: readonly FoundWorker[] | undefined): { handlers?: TopicHandlers } {
  if (handlers === undefined) return {}
  const sum = (of: 'running' | 'slots'): number =>
    handlers.reduce((total, { facts }) => total + (facts?.[of] ?? 0), 0)
  const seen = handlers.length === 0 ? {} : { lastSeenAt: Math.max(...handlers.map((one) => one.lastSeenAt)) }
  return { handlers: { workers: handlers.length, running: sum('running'), slots: sum('slots'), ...seen } }
}
