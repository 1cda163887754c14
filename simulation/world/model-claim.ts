/** What one claim of the model hands out, and what it says about the future. Changes nothing. */
import type { TopicControl } from '../../src/core/controls.ts'
import type * as contract from '../../src/store/contract/store.ts'
import { Gates, type Gate } from '../../src/store/shared/gates.ts'
import { nextOfBoth } from '../../src/store/shared/moments.ts'
import { byTurn, type ModelEntry } from './model-entry.ts'

export type ModelClaim = {
  readonly taken: readonly ModelEntry[]
  readonly next: contract.Next
  readonly limited: readonly string[]
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
  const wanted = all.filter(({ place, message }) => place === 'waiting' && left.has(message.topic))
  const isDue = ({ dueAt, message: { topic } }: ModelEntry): boolean =>
    dueAt <= now + (gateOf.get(topic)?.leadMs(leadMs) ?? leadMs)
  const taken: ModelEntry[] = []
  let bytes = 0
  for (const entry of wanted.filter(isDue).toSorted((a, b) => byTurn(a, b, wants))) {
    const { topic, body } = entry.message
    const room = Math.min(left.get(topic) ?? 0, gateOf.get(topic)?.left ?? Infinity)
    if (room === 0 || taken.length === limit) continue
    bytes += body.length
    if (bytes > bytesMax && taken.length > 0) break
    left.set(topic, (left.get(topic) ?? 0) - 1)
    gateOf.get(topic)?.take(1)
    taken.push(entry)
  }
  const rest = wanted.filter((entry) => !taken.includes(entry))
  const limited = [...gateOf].filter(([, gate]) => gate?.isLimited === true).map(([topic]) => topic)
  const outlooks = new Map<string, TopicOutlook>()
  for (const want of wants) {
    const gate = gateOf.get(want.topic)
    const head = headOf(rest, want.topic)
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
  return { taken, limited, outlooks, charged: gates.charged(), ...outlook(rest, gateOf, leadMs, now) }
}

/** Whether a topic has a message that whoever has room can be handed, now or later, by the clock alone. */
export function canBeHad(
  entries: Iterable<ModelEntry>,
  controls: ReadonlyMap<string, TopicControl>,
  topic: string,
  now: number,
): boolean {
  const all = [...entries]
  const waiting = all.filter(({ place }) => place === 'waiting')
  const gate = new Gates(controls, { limit: 0 }, now).before(topic, {
    running: runningOf(all, topic),
    free: 0,
  })
  return headOf(waiting, topic) !== undefined && gate?.isShutOff !== true
}

function runningOf(entries: readonly ModelEntry[], topic: string): number {
  return entries.filter(({ place, message }) => place === 'running' && message.topic === topic).length
}

function headOf(waiting: readonly ModelEntry[], topic: string): number | undefined {
  const moments = waiting.filter(({ message }) => message.topic === topic).map(({ dueAt }) => dueAt)
  return moments.length === 0 ? undefined : Math.min(...moments)
}

function outlook(
  rest: readonly ModelEntry[],
  gateOf: ReadonlyMap<string, Gate | undefined>,
  leadMs: number,
  now: number,
): Pick<ModelClaim, 'next' | 'told'> {
  let at = Infinity
  let gatedAt = Infinity
  const told = new Map<string, number>()
  for (const [topic, gate] of gateOf) {
    const head = headOf(rest, topic)
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
