/**
 * Keys share (P16), by counting hand-outs; it knows nothing of turns. A message *stands* while it is due, first of its key in
 * its priority, and its key is held by no limit:
 *
 *   fair    while it stands, each other key of its topic and priority is handed out at most its weight
 *   order   while it stands, nothing of a lower priority of its topic is handed out (P7)
 *   whole   a claim with room leaves nothing that stands, or says that more is there now
 *
 * Keys with a rate are not asked whether they stand: that would take a second meter. A message without key is a key of its own.
 */
import { isControl } from '../../src/core/control.ts'
import type * as contract from '../../src/store/contract/store.ts'
import type { KeyRules } from './key-rules.ts'
import { comesBefore, type Known } from './ledger.ts'
import type { Violations } from './violations.ts'

type Standing = {
  readonly known: Known
  /** The number of the last hand-out before it stood. */
  readonly since: number
  /** One that was moved stands anew. */
  readonly dueAt: number
}

export class SharesJudge {
  readonly #rules: KeyRules
  readonly #violations: Violations
  /** What stood after the last claim, or a change since. */
  #standing = new Map<Known, Standing>()
  /** By line and key: the numbers of its last hand-outs, as many as any weight. */
  readonly #handed = new Map<string, number[]>()
  #count = 0
  #latest = 0

  constructor(rules: KeyRules, violations: Violations) {
    this.#rules = rules
    this.#violations = violations
  }

  /** Limits and weights are others from now on: what stands is counted anew. */
  changed(): void {
    this.#standing.clear()
  }

  /** A claim takes effect; `taken` stand where they stood. Answers what stands when it is over. */
  claimed(taken: readonly Known[], all: Iterable<Known>, now: number): readonly Known[] {
    // Keys that were served in what is to come again wait at most until then.
    const isSetBack = now < this.#latest
    this.#latest = Math.max(this.#latest, now)
    const lines = new Lines(all, this.#rules, now)
    this.#standing = this.#stillStanding(lines.standing())
    for (const known of taken) {
      this.#count += 1
      if (!isSetBack) this.#judge(known)
      lines.handOut(known)
      this.#standing.delete(known)
      for (const { known: other } of this.#standing.values())
        if (isOfSameKey(other, known)) this.#standing.delete(other)
      for (const other of lines.standingOf(known)) this.#standing.set(other, this.#stands(other))
    }
    if (isSetBack) this.#standing.clear()
    return [...this.#standing.keys()]
  }

  #stillStanding(now: Iterable<Known>): Map<Known, Standing> {
    const entries = [...now].map((known): [Known, Standing] => {
      const before = this.#standing.get(known)
      return [known, before?.dueAt === known.dueAt ? before : this.#stands(known)]
    })
    return new Map(entries)
  }

  #stands(known: Known): Standing {
    return { known, since: this.#count, dueAt: known.dueAt }
  }

  #judge(taken: Known): void {
    const { id, topic, key, priority } = taken.message
    const recent = key === undefined ? [] : this.#note(`${topic}\n${priority}\n${key}`)
    const weight = key === undefined ? 1 : this.#rules.of(topic, key).weight
    for (const { known, since } of this.#standing.values()) {
      const { message } = known
      if (message.topic !== topic || known === taken) continue
      if (message.priority < priority)
        this.#violations.add('P7', `${id} is handed out before ${message.id}, which has a higher priority`)
      if (key === undefined || message.priority !== priority || message.key === key) continue
      const count = recent.filter((number) => number > since).length
      if (count > weight)
        this.#violations.add(
          'P16',
          `${count} of "${key}" (${weight}) are handed out while ${message.id} stands; the last: ${id}`,
        )
    }
  }

  /** The numbers of the last hand-outs of a key, this one included. */
  #note(name: string): readonly number[] {
    const recent = [...(this.#handed.get(name) ?? []).slice(-WEIGHT_MAX), this.#count]
    this.#handed.set(name, recent)
    return recent
  }
}

/** Above every weight that a simulation sets. */
const WEIGHT_MAX = 10

function isOfSameKey(a: Known, b: Known): boolean {
  const { topic, key } = a.message
  return key !== undefined && topic === b.message.topic && key === b.message.key
}

/** What is there during one claim. */
class Lines {
  readonly #rules: KeyRules
  readonly #now: number
  /** By topic and key. */
  readonly #groups = new Map<string, { readonly waiting: Set<Known>; running: number }>()
  readonly #plain: Known[] = []

  constructor(all: Iterable<Known>, rules: KeyRules, now: number) {
    this.#rules = rules
    this.#now = now
    for (const known of all) {
      const { topic, key } = known.message
      if (isControl(topic) || known.place === 'dead') continue
      if (key === undefined) {
        if (known.place === 'waiting' && known.dueAt <= now) this.#plain.push(known)
        continue
      }
      const group = this.#groupOf(topic, key)
      if (known.place === 'waiting') group.waiting.add(known)
      else group.running += 1
    }
  }

  *standing(): Iterable<Known> {
    yield* this.#plain
    for (const { waiting } of this.#groups.values()) {
      const [one] = waiting
      if (one !== undefined) yield* this.standingOf(one)
    }
  }

  handOut(known: Known): void {
    const { topic, key } = known.message
    if (key === undefined) return
    const group = this.#groupOf(topic, key)
    group.waiting.delete(known)
    group.running += 1
  }

  /** Of the key of this message: the first of each priority, unless something holds it. */
  standingOf({ message: { topic, key } }: Known): readonly Known[] {
    if (key === undefined) return []
    const { waiting, running } = this.#groupOf(topic, key)
    const { concurrency = Infinity, rate } = this.#rules.of(topic, key)
    const all = [...waiting]
    if (rate !== undefined || running >= concurrency) return []
    if (concurrency === 1 && all.some(({ isHolding }) => isHolding)) return []
    const due = all.filter(({ dueAt }) => dueAt <= this.#now)
    return [0, 1, 2].flatMap((rank) => firstOf(due.filter(({ message }) => message.priority === rank)))
  }

  #groupOf(topic: string, key: string): { readonly waiting: Set<Known>; running: number } {
    const name = `${topic}\n${key}`
    const known = this.#groups.get(name)
    if (known !== undefined) return known
    const group = { waiting: new Set<Known>(), running: 0 }
    this.#groups.set(name, group)
    return group
  }
}

function firstOf(group: readonly Known[]): readonly Known[] {
  const [first] = group.toSorted((a, b) => (comesBefore(a, b) ? -1 : 1))
  return first === undefined ? [] : [first]
}

/** P16, its second sentence. `standing`: what may be handed out when the claim is over. */
export function checkLeft(
  { wants, limit, free = limit, bytesMax }: contract.ClaimDue,
  { leases, next }: contract.ClaimReply,
  standing: readonly Known[],
  isLimited: (topic: string) => boolean,
): Known | undefined {
  const bytes = leases.reduce((sum, { body }) => sum + body.length, 0)
  if (next.state === 'EXPIRED' || leases.length >= limit || 2 * bytes > bytesMax) return undefined
  const limited = leases.filter(({ topic }) => isLimited(topic)).length
  return standing.find(({ message: { topic } }) => {
    const want = wants.find((one) => one.topic === topic)
    const its = leases.filter((lease) => lease.topic === topic).length
    if (want === undefined || its >= want.limit) return false
    return !isLimited(topic) || (limited < free && its < (want.free ?? want.limit))
  })
}
