/**
 * Claims where pauses and limits are. What they leave is worked out here, by the code that all engines share
 * (`shared/gates`), from what one call reads; the claim that follows is good only if nothing has changed since: each hand-out
 * under a limit, and each change of a control, makes a new revision. Otherwise it begins again.
 */
import { Meter, WHOLE_QUEUE, isOver, type Allowance, type TopicControl } from '../../core/controls.ts'
import type * as contract from '../contract/store.ts'
import { Gates, type Gate } from '../shared/gates.ts'
import { nextOfBoth } from '../shared/moments.ts'
import { toMicros, toMs } from './micros.ts'

export type GateRow = {
  readonly now_at: number
  readonly revision: number | null
  readonly names: readonly string[] | null
  readonly controls: readonly string[] | null
  readonly running: readonly number[]
}

/** What cannot be read counts as not there: a row that somebody changed must not stop every topic. */
export function controlsOf({
  names,
  controls,
}: Pick<GateRow, 'names' | 'controls'>): Map<string, TopicControl> {
  const read = (names ?? []).map((name, i) => [name, JSON.parse(controls?.[i] ?? 'null') as unknown] as const)
  return new Map(read.filter((entry): entry is readonly [string, TopicControl] => isTopicControl(entry[1])))
}

function isTopicControl(value: unknown): value is TopicControl {
  if (!hasNumbers(value, ['pausedUntil', 'filledAt', 'overFilledAt'])) return false
  const { limit, over } = value as { readonly limit?: unknown; readonly over?: unknown }
  if (typeof limit !== 'object' || limit === null) return false
  const { perKey } = limit as { readonly perKey?: unknown }
  return (
    isAllowance(limit) &&
    (perKey === undefined || (typeof perKey === 'object' && perKey !== null && isAllowance(perKey))) &&
    (over === undefined || hasNumbers(over, ['intervalMs', 'burst', 'endsAt']))
  )
}

function isAllowance(value: { readonly rate?: unknown; readonly concurrency?: unknown }): boolean {
  const { rate, concurrency } = value
  return (
    (rate === undefined || hasNumbers(rate, ['intervalMs', 'burst'])) &&
    (concurrency === undefined || typeof concurrency === 'number')
  )
}

function hasNumbers(value: unknown, names: readonly string[]): boolean {
  if (typeof value !== 'object' || value === null) return false
  return names.every((name) => typeof (value as Readonly<Record<string, unknown>>)[name] === 'number')
}

/** What each key of a topic is allowed, and whether some have limits of their own. */
export type TopicKeyRules = { readonly perKey: Allowance | undefined; readonly hasOwn: boolean }

/** What pauses and limits leave of one claim. */
export class GatedClaim {
  readonly #request: contract.ClaimDue
  readonly #now: number
  readonly #gates: readonly (Gate | undefined)[]
  readonly #all: ReadonlyMap<string, TopicControl>

  constructor(row: GateRow, request: contract.ClaimDue) {
    this.#request = request
    this.#now = toMs(row.now_at)
    this.#all = controlsOf(row)
    const gates = new Gates(this.#all, request, this.#now)
    this.#gates = request.wants.map(({ topic, limit, free = limit }, i) =>
      gates.before(topic, { running: row.running[i] ?? 0, free }),
    )
  }

  get limits(): number[] {
    return this.#request.wants.map(({ limit }, i) => Math.min(limit, this.#gates[i]?.left ?? limit))
  }

  get leads(): string[] {
    const { leadMs } = this.#request
    return this.#gates.map((gate) => toMicros(gate?.leadMs(leadMs) ?? leadMs))
  }

  get isLimited(): boolean[] {
    return this.#gates.map((gate) => gate?.isLimited === true)
  }

  /** Of all limited topics together. */
  get limitedAll(): number {
    const { free, limit } = this.#request
    const whole = this.#metersOf(WHOLE_QUEUE)
    const lefts = [whole.rate, whole.over].flatMap((meter) => meter?.left ?? [])
    return Math.min(free ?? limit, limit, ...lefts)
  }

  /** The columns of `claim_due_1` that say how meters move. */
  get meters(): readonly unknown[] {
    const names = [...this.#all.keys()]
    const meters = names.map((name) => this.#metersOf(name))
    const steps = (pick: (control: TopicControl) => number | undefined): (number | null)[] =>
      names.map((name) => pick(this.#all.get(name) as TopicControl) ?? null)
    return [
      names,
      meters.map(({ rate }) => rate?.filledAt ?? null),
      steps(({ limit }) => limit.rate?.intervalMs),
      meters.map(({ over }) => over?.filledAt ?? null),
      steps(({ over }) => over?.intervalMs),
    ]
  }

  /** What each key of a wanted topic is allowed. */
  get keyRules(): TopicKeyRules[] {
    return this.#request.wants.map(({ topic }) => {
      const control = this.#all.get(topic)
      return { perKey: control?.limit.perKey, hasOwn: control?.hasKeyLimits === true }
    })
  }

  /** `heads`: the first moment of each topic after the claim, in microseconds. */
  reply(leases: readonly contract.Lease[], heads: readonly (number | null)[]): contract.ClaimReply {
    const { wants, leadMs } = this.#request
    for (const { topic } of leases) this.#gates[wants.findIndex((want) => want.topic === topic)]?.take(1)
    let [at, sharpAt] = [Infinity, Infinity]
    for (const [i, head] of heads.entries()) {
      if (head === null) continue
      const gate = this.#gates[i]
      if (gate === undefined) at = Math.min(at, toMs(head) - leadMs)
      else sharpAt = Math.min(sharpAt, gate.againAt(toMs(head), leadMs) ?? Infinity)
    }
    const limited = wants.filter((_, i) => this.#gates[i]?.isLimited === true).map(({ topic }) => topic)
    return {
      leases,
      next: nextOfBoth(finite(at), finite(sharpAt), this.#now),
      ...(limited.length === 0 ? {} : { limited }),
    }
  }

  #metersOf(name: string): { readonly rate?: Meter; readonly over?: Meter } {
    const control = this.#all.get(name)
    if (control === undefined || isOver(control, this.#now)) return {}
    const { limit, over, filledAt, overFilledAt } = control
    return {
      ...(limit.rate === undefined ? {} : { rate: new Meter(limit.rate, filledAt, this.#now) }),
      ...(over === undefined || over.endsAt <= this.#now
        ? {}
        : { over: new Meter(over, overFilledAt, this.#now) }),
    }
  }
}

function finite(moment: number): number | undefined {
  return moment === Infinity ? undefined : moment
}
