/** Many answers as one. Sums and smallest moments; what each partition's clock says is not compared with another's. */
import type {
  ClaimReply,
  ControlState,
  Counts,
  Forecast,
  Next,
  TopicCounts,
  WorkerRecord,
  WorkersReply,
} from '../contract/store.ts'

/** The whole where nothing answered is the same as nothing: the caller knows what is missing. */
export function mergeCounts(all: readonly Counts[]): Counts {
  const states = { delayed: 0, ready: 0, running: 0, dead: 0 }
  for (const { states: its } of all) {
    states.delayed += its.delayed
    states.ready += its.ready
    states.running += its.running
    states.dead += its.dead
  }
  return { states, isExact: all.every(({ isExact }) => isExact), ...earliest(all) }
}

export function mergeTopics(a: TopicCounts | undefined, b: TopicCounts): TopicCounts {
  if (a === undefined) return b
  return {
    waiting: a.waiting + b.waiting,
    running: a.running + b.running,
    dead: a.dead + b.dead,
    ...earliest([a, b]),
  }
}

export function mergeForecasts(bars: number, all: readonly Forecast[]): Forecast {
  const counts = Array.from({ length: bars }, (_, bar) =>
    all.reduce((sum, { counts: its }) => sum + (its[bar] ?? 0), 0),
  )
  return { counts, isExact: all.every(({ isExact }) => isExact) }
}

/** A worker is known to every partition. Moments are shown by the clock of the first that answered. */
export function mergeWorkers(all: readonly WorkersReply[], max: number): WorkersReply {
  const [first] = all
  if (first === undefined) return { now: 0, workers: [] }
  const found = new Map<string, WorkerRecord>()
  for (const { now, workers } of all) {
    const aheadMs = now - first.now
    for (const record of workers) {
      const shown = moved(record, -aheadMs)
      const before = found.get(record.owner)
      found.set(record.owner, before === undefined ? shown : joined(before, shown))
    }
  }
  const workers = [...found.values()].toSorted((a, b) => b.lastSeenAt - a.lastSeenAt).slice(0, max)
  return { now: first.now, workers }
}

function moved(record: WorkerRecord, byMs: number): WorkerRecord {
  const { firstSeenAt, lastSeenAt, goneAt } = record
  return {
    ...record,
    firstSeenAt: firstSeenAt + byMs,
    lastSeenAt: lastSeenAt + byMs,
    ...(goneAt === undefined ? {} : { goneAt: goneAt + byMs }),
  }
}

/** It tells its facts to one partition at a time: the one that saw it last knows most. One that left, left them all. */
function joined(a: WorkerRecord, b: WorkerRecord): WorkerRecord {
  const [earlier, later] = a.lastSeenAt <= b.lastSeenAt ? [a, b] : [b, a]
  const goneAt = later.goneAt ?? earlier.goneAt
  return {
    owner: a.owner,
    facts: later.facts === '' ? earlier.facts : later.facts,
    firstSeenAt: Math.min(a.firstSeenAt, b.firstSeenAt),
    lastSeenAt: later.lastSeenAt,
    ...(goneAt === undefined ? {} : { goneAt }),
  }
}

/** A pause that only some partitions have, because others were away, is a pause: what is in those does not start. */
export function mergeControls(all: readonly (readonly ControlState[])[]): ControlState[] {
  const found = new Map<string, ControlState>()
  for (const control of all.flat()) {
    const before = found.get(control.topic)
    const pausedUntil = Math.max(before?.pausedUntil ?? 0, control.pausedUntil ?? 0)
    found.set(control.topic, { ...before, ...control, ...(pausedUntil === 0 ? {} : { pausedUntil }) })
  }
  return [...found.values()].toSorted((a, b) => (a.topic < b.topic ? -1 : 1))
}

/** What several claims brought, as the answer to one. `isAll`: every partition was asked. */
export function mergeClaims(replies: readonly ClaimReply[], isAll: boolean): ClaimReply {
  const looks = replies.flatMap(({ lookMs, lapseMs }) =>
    lookMs === undefined ? [] : [{ lookMs, lapseMs: lapseMs ?? Infinity }],
  )
  return {
    leases: replies.flatMap(({ leases }) => leases),
    next: isAll ? soonest(replies.map(({ next }) => next)) : { state: 'EXPIRED' },
    ...(replies.some(({ isOwnLapsed }) => isOwnLapsed === true) ? { isOwnLapsed: true } : {}),
    ...(looks.length === 0
      ? {}
      : {
          lookMs: Math.min(...looks.map(({ lookMs }) => lookMs)),
          lapseMs: Math.min(...looks.map(({ lapseMs }) => lapseMs)),
        }),
  }
}

function soonest(all: readonly Next[]): Next {
  let found: Next = { state: 'NO_TASK' }
  for (const next of all) {
    if (next.state === 'EXPIRED') return next
    if (next.state === 'WAITING' && (found.state === 'NO_TASK' || next.ms < found.ms)) found = next
  }
  return found
}

function earliest(all: readonly { readonly nextDueAt?: number }[]): { readonly nextDueAt?: number } {
  const moments = all.flatMap(({ nextDueAt }) => (nextDueAt === undefined ? [] : [nextDueAt]))
  return moments.length === 0 ? {} : { nextDueAt: Math.min(...moments) }
}
