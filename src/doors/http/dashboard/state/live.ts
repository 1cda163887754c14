/**
 * What is true now, pushed by the server: one stream per open page. Its states:
 *
 *   connecting ──► live ◄──► away      the server is there and its store does not answer
 *        ▲          │  ▲
 *        │          ▼  │ reconnects by itself
 *     paused ◄──   lost                the server is not there
 *
 * In `away` and `lost` the last numbers stay, grey, with their age; buttons are off. A server that answers, and refuses the
 * stream, is no outage: `barred`, with what it said; it is asked again now and then.
 */
import { computed, effect, signal, untracked } from '@preact/signals'
import { segmentOf } from '../../../../core/encoding/segment.ts'
import { BASE, place } from './address.ts'
import { call, troubleOf } from './api.ts'
import { after, correctClock, serverNow } from './clock.ts'
import { mayLook, openSession } from './session.ts'
import type { LiveStats, LiveTopics, ManyJob, Trouble } from './wire.ts'

export type LinkState =
  | { readonly kind: 'connecting' | 'live' | 'paused' }
  | { readonly kind: 'away' | 'lost'; readonly since: number; readonly detail: string }
  | { readonly kind: 'barred'; readonly trouble: Trouble }

export const link = signal<LinkState>({ kind: 'connecting' })
export const stats = signal<LiveStats | undefined>(undefined)
export const topics = signal<LiveTopics | undefined>(undefined)
export const jobs = signal<readonly ManyJob[]>([])
/** When we last heard that the numbers are right. */
export const heardAt = signal(0)
/**
 * Moves when questions that are not pushed are worth asking again. The server says when: all pages ask in the same moment,
 * so that it reads the store once for all of them.
 */
export const beat = signal(0)

/** Actions make sense: the server and its store are there. */
export const isReachable = computed(() => link.value.kind !== 'away' && link.value.kind !== 'lost')

const RECONNECT_MS = 2_000
const BARRED_MS = 10_000
const JOBS_SHOWN = 20

let source: EventSource | undefined
let queueHeard: string | undefined
let cancelRetry = (): void => {}

/** Asks again now: after an action of this page. */
export function refresh(): void {
  beat.value += 1
}

/** To the queue that the address names, as soon as and as long as we may. */
export function startListening(): void {
  effect(() => {
    const queue = mayLook() ? place.value.queue : undefined
    untracked(() => listenTo(queue))
  })
}

function listenTo(queue: string | undefined): void {
  if (queue === queueHeard) return
  queueHeard = queue
  if (link.value.kind === 'barred') link.value = { kind: 'connecting' }
  stats.value = undefined
  topics.value = undefined
  jobs.value = []
  if (link.value.kind !== 'paused') connect()
}

export function pauseOrGoOn(): void {
  if (link.value.kind === 'paused') {
    connect()
    refresh()
    return
  }
  disconnect()
  link.value = { kind: 'paused' }
}

function disconnect(): void {
  cancelRetry()
  source?.close()
  source = undefined
}

function connect(): void {
  disconnect()
  if (queueHeard === undefined) return
  if (link.value.kind !== 'lost' && link.value.kind !== 'barred') link.value = { kind: 'connecting' }
  const opened = new EventSource(`${BASE}/v1/queues/${segmentOf(queueHeard)}/events`)
  source = opened
  opened.addEventListener('open', () => {
    if (link.value.kind === 'lost' || link.value.kind === 'barred') refresh()
    link.value = { kind: 'live' }
  })
  opened.addEventListener('error', () => lose(opened))
  hear(opened, 'stats', (heard) => {
    stats.value = heard
    heardAt.value = serverNow()
    correctClock(heard.now)
  })
  hear(opened, 'topics', (heard) => (topics.value = heard))
  hear(opened, 'beat', refresh)
  hear(opened, 'bulk', hearJob)
  // The token went away, or changed: who looks may be somebody else now.
  hear(opened, 'refused', () => void openSession())
  hear(opened, 'away', ({ since, detail }) => {
    link.value = { kind: 'away', since, detail }
  })
  hear(opened, 'back', () => {
    link.value = { kind: 'live' }
    refresh()
  })
}

type LiveEvents = {
  readonly stats: LiveStats
  readonly topics: LiveTopics
  readonly beat: unknown
  readonly refused: unknown
  readonly bulk: ManyJob
  readonly away: { readonly since: number; readonly detail: string }
  readonly back: unknown
}

function hear<K extends keyof LiveEvents>(
  from: EventSource,
  event: K,
  take: (heard: LiveEvents[K]) => void,
): void {
  from.addEventListener(event, (message: MessageEvent<string>) => {
    try {
      take(JSON.parse(message.data) as LiveEvents[K])
    } catch (error) {
      link.value = { kind: 'lost', since: serverNow(), detail: troubleOf(error).detail }
    }
  })
}

/** A browser reconnects by itself, except after an answer that is no stream: a token that ended, a server that starts. */
function lose(lost: EventSource): void {
  if (lost !== source) return
  if (lost.readyState !== EventSource.CLOSED) return tellLost()
  void whyRefused().then((trouble) => {
    if (lost !== source) return
    if (trouble === undefined) tellLost()
    else link.value = { kind: 'barred', trouble }
    cancelRetry = after(trouble === undefined ? RECONNECT_MS : BARRED_MS, () => {
      connect()
      void openSession()
    })
  })
}

function tellLost(): void {
  if (link.value.kind !== 'lost')
    link.value = { kind: 'lost', since: serverNow(), detail: 'The server does not answer.' }
}

/** A stream tells no status: the same question without one does. Undefined: the server is away, or agrees now. */
async function whyRefused(): Promise<Trouble | undefined> {
  try {
    await call('GET', `/v1/queues/${segmentOf(queueHeard ?? '')}/stats`)
    return undefined
  } catch (error) {
    const trouble = troubleOf(error)
    if (trouble.status === 401) await openSession()
    return trouble.status === 403 || trouble.status === 404 ? trouble : undefined
  }
}

/**
 * A job that this page began, or that the stream told of. News may overtake each other: the answer that a job has begun can
 * come after the event that it is done.
 */
export function hearJob(job: ManyJob): void {
  const known = jobs.value.find(({ id }) => id === job.id)
  if (known !== undefined && (known.state !== 'running' || known.done > job.done)) return
  const others = jobs.value.filter(({ id }) => id !== job.id)
  jobs.value = [job, ...others].slice(0, JOBS_SHOWN)
  if (job.state !== 'running') refresh()
}

export function forgetJob(id: string): void {
  jobs.value = jobs.value.filter((job) => job.id !== id)
}

/** A browser has six connections to a server for all of its tabs: a tab out of sight gives its own back after this time. */
const HIDDEN_MS = 10_000

let cancelLeave = (): void => {}

export function watchVisibility(): void {
  document.addEventListener('visibilitychange', () => {
    cancelLeave()
    if (document.hidden) cancelLeave = after(HIDDEN_MS, disconnect)
    else if (source === undefined && link.value.kind !== 'paused') {
      connect()
      refresh()
    }
  })
}
