/** What one claim of the model hands out, and what it says about the future. Changes nothing. */
import type { TopicControl } from '../../src/core/controls.ts'
import type * as contract from '../../src/store/contract/store.ts'
import { Gates, type Gate } from '../../src/store/shared/gates.ts'
import { nextOfBoth } from '../../src/store/shared/moments.ts'
import type { ModelEntry } from './model-entry.ts'
import { keyGroups, type ModelKeys } from './model-keys.ts'

export type ModelClaim = {
  readonly taken: readonly ModelEntry[]
  readonly next: contract.Next
  readonly limited: readonly string[]
  /** Those that have keys, and no limit. */
  readonly keyed: readonly string[]
  /** As they are after the claim. */
  readonly keys: ModelKeys
  /** Until when the claimer may sleep, by topic. */
  readonly told: ReadonlyMap<string, number>
  readonly outlooks: ReadonlyMap<string, TopicOutlook>
  /** Controls whose rates were used. */
  readonly charged: Iterable<readonly [topic: string, control: TopicControl]>
}

/** Of one wanted topic, after the claim. */
export type TopicOutlook = {
  /** When its first message can be handed out by the clock alone to whoever has room; Infinity: not by the clock. */
  readonly opensAt: number
  readonly isGated: boolean
  /** How many more the asker could take, and how many it could before. */
  readonly room: number
  readonly asked: number
}

export function modelClaim(
  entries: Iterable<ModelEntry>,
  controls: ReadonlyMap<string, TopicControl>,
  keys: ModelKeys,
  { wants, limit, free, bytesMax, leadMs }: contract.ClaimDue,
  now: number,
): ModelClaim {
  const all = [...entries]
  const gates = new Gates(controls, { limit, free: free ?? limit }, now)
  const gateOf = new Map<string, Gate | undefined>(
    wants.map(({ topic, limit: most, free: its = most }) => [
      topic,
      gates.before(topic, { running: runningOf(all, topic), free: its }),
    ]),
  )
  const left = new Map(wants.map((want) => [want.topic, want.limit]))
  const served = keys.copy()
  const taken: ModelEntry[] = []
  let bytes = 0
  for (const { topic, rank } of lines(wants)) {
    const gate = gateOf.get(topic)
    for (;;) {
      if (Math.min(left.get(topic) ?? 0, gate?.left ?? Infinity) === 0 || taken.length === limit) break
      const standing = standingOf(all, {
        topic,
        rank,
        taken,
        keys: served,
        now,
        leadMs: gate?.leadMs(leadMs) ?? leadMs,
      })
      const entry = standing[0]?.entry
      if (entry === undefined) break
      bytes += entry.message.body.length
      if (bytes > bytesMax && taken.length > 0) break
      left.set(topic, (left.get(topic) ?? 0) - 1)
      gate?.take(1)
      taken.push(entry)
      const { key } = entry.message
      if (key !== undefined) served.served({ topic, key }, entry, now)
    }
    if (bytes > bytesMax && taken.length > 0) break
  }
  const rest = all.filter((entry) => !taken.includes(entry))
  const handed = taken.map((entry): ModelEntry => ({ ...entry, place: 'running' }))
  const headOf = (topic: string): number | undefined => firstMoment([...rest, ...handed], served, topic, now)
  const limited = [...gateOf].filter(([, gate]) => gate?.isLimited === true).map(([topic]) => topic)
  const outlooks = new Map<string, TopicOutlook>()
  for (const want of wants) {
    const gate = gateOf.get(want.topic)
    const head = headOf(want.topic)
    const opensAt =
      gate === undefined ? (head ?? Infinity) - leadMs : (gate.opensAt(head, leadMs) ?? Infinity)
    const room = left.get(want.topic) ?? 0
    const isGated = gate !== undefined
    if (gate?.isLimited === true)
      outlooks.set(want.topic, {
        opensAt,
        isGated,
        room: Math.min(room, gate.free),
        asked: want.free ?? want.limit,
      })
    else outlooks.set(want.topic, { opensAt, isGated, room, asked: want.limit })
  }
  const keyed = wants
    .map(({ topic }) => topic)
    .filter((topic) => !limited.includes(topic) && keyGroups(all, topic).length > 0)
  return {
    taken,
    limited,
    keyed,
    keys: served,
    outlooks,
    charged: gates.charged(),
    ...outlook(headOf, gateOf, leadMs, now),
  }
}

/** The lines that a claim looks at, in order: by priority, and in that by want. */
function lines(wants: readonly contract.Want[]): { readonly topic: string; readonly rank: number }[] {
  return [0, 1, 2].flatMap((rank) => wants.map(({ topic }) => ({ topic, rank })))
}

type Look = {
  readonly topic: string
  readonly rank: number
  readonly taken: readonly ModelEntry[]
  readonly keys: ModelKeys
  readonly now: number
  readonly leadMs: number
}

/** What of one line may be handed out now, in the order of turns. */
function standingOf(
  entries: readonly ModelEntry[],
  { topic, rank, taken, keys, now, leadMs }: Look,
): { readonly entry: ModelEntry; readonly turn: number }[] {
  const free = entries.filter((entry) => entry.message.topic === topic && !taken.includes(entry))
  const plain = free.filter(({ place, message }) => place === 'waiting' && message.key === undefined)
  const heads = keyGroups(free, topic).flatMap(({ place, waiting, running }) => {
    const handed = taken.filter(({ message }) => message.topic === topic && message.key === place.key).length
    return keys.heads(place, waiting, running + handed, now)
  })
  return [...plain.map((entry) => ({ entry, turn: entry.dueAt, opensAt: entry.dueAt })), ...heads]
    .filter(({ entry, opensAt }) => entry.message.priority === rank && opensAt <= now + leadMs)
    .toSorted((a, b) => a.turn - b.turn || a.entry.order - b.entry.order)
}

/** Whether a topic has a message that whoever has room can be handed, now or later, by the clock alone. */
export function canBeHad(
  entries: Iterable<ModelEntry>,
  controls: ReadonlyMap<string, TopicControl>,
  keys: ModelKeys,
  topic: string,
  now: number,
): boolean {
  const all = [...entries]
  const gate = new Gates(controls, { limit: 0 }, now).before(topic, {
    running: runningOf(all, topic),
    free: 0,
  })
  return firstMoment(all, keys, topic, now) !== undefined && gate?.isShutOff !== true
}

function runningOf(entries: readonly ModelEntry[], topic: string): number {
  return entries.filter(({ place, message }) => place === 'running' && message.topic === topic).length
}

/** When the first of what waits may be handed out, as far as keys allow; of a key that is held back nothing counts. */
export function firstMoment(
  entries: readonly ModelEntry[],
  keys: ModelKeys,
  topic: string,
  now: number,
): number | undefined {
  const plain = entries.filter(
    ({ place, message }) => place === 'waiting' && message.topic === topic && message.key === undefined,
  )
  const keyed = keyGroups(entries, topic).flatMap(({ place, waiting, running }) =>
    keys.heads(place, waiting, running, now),
  )
  const moments = [...plain.map(({ dueAt }) => dueAt), ...keyed.map(({ opensAt }) => opensAt)]
  return moments.length === 0 ? undefined : Math.min(...moments)
}

function outlook(
  headOf: (topic: string) => number | undefined,
  gateOf: ReadonlyMap<string, Gate | undefined>,
  leadMs: number,
  now: number,
): Pick<ModelClaim, 'next' | 'told'> {
  let at = Infinity
  let gatedAt = Infinity
  const told = new Map<string, number>()
  for (const [topic, gate] of gateOf) {
    const head = headOf(topic)
    if (gate === undefined) at = Math.min(at, head ?? Infinity)
    else if (!gate.isClosed) {
      const opensAt = gate.againAt(head, leadMs) ?? Infinity
      told.set(topic, opensAt)
      gatedAt = Math.min(gatedAt, opensAt)
    }
  }
  for (const [topic, gate] of gateOf) if (gate === undefined) told.set(topic, at)
  return { next: nextOfBoth(at - leadMs, gatedAt, now), told }
}
