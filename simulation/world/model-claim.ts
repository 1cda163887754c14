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
  /** Controls whose rates were used. */
  readonly charged: Iterable<readonly [topic: string, control: TopicControl]>
}

export function modelClaim(
  entries: Iterable<ModelEntry>,
  controls: ReadonlyMap<string, TopicControl>,
  { wants, limit, free, bytesMax, leadMs, ...request }: contract.ClaimDue,
  now: number,
): ModelClaim {
  const all = [...entries]
  const gates = new Gates(controls, { ...request, wants, limit, bytesMax, leadMs, free: free ?? limit }, now)
  const gateOf = new Map<string, Gate | undefined>(
    wants.map((want) => [
      want.topic,
      gates.before(want.topic, {
        running: all.filter(({ place, message }) => place === 'running' && message.topic === want.topic)
          .length,
        free: want.free ?? want.limit,
      }),
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
  return { taken, limited, charged: gates.charged(), ...outlook(rest, gateOf, leadMs, now) }
}

function outlook(
  rest: readonly ModelEntry[],
  gateOf: ReadonlyMap<string, Gate | undefined>,
  leadMs: number,
  now: number,
): Pick<ModelClaim, 'next' | 'told'> {
  const headOf = (topic: string): number =>
    Math.min(Infinity, ...rest.filter(({ message }) => message.topic === topic).map(({ dueAt }) => dueAt))
  let at = Infinity
  let gatedAt = Infinity
  const told = new Map<string, number>()
  for (const [topic, gate] of gateOf) {
    const head = headOf(topic)
    if (gate === undefined) at = Math.min(at, head)
    else if (!gate.isClosed) {
      const opensAt = gate.againAt(head === Infinity ? undefined : head, leadMs) ?? Infinity
      told.set(topic, opensAt)
      gatedAt = Math.min(gatedAt, opensAt)
    }
  }
  for (const [topic, gate] of gateOf) if (gate === undefined) told.set(topic, at)
  return { next: nextOfBoth(at - leadMs, gatedAt, now), told }
}
