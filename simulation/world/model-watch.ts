/**
 * Whom the model tells of a topic's head and wakes for it, and when the others look: what `parts/watch.lua` does on Redis,
 * as plain as can be. A sleeper hears as long as it listens, as a process hears as long as it is connected.
 */
import type { SleepingAsker } from '../../src/store/contract/store.ts'

export const LOOK_MS_MAX = 60_000
/** Where fewer than these look within the fallback, who asks does. */
export const NEAR_MIN = 4
const [WATCHERS, KNOWN_MAX, LATE_MS, LYING_MS, APART_MS, EARLY_MS] = [2, 16, 1_000, 20, 250, 50]

type Sleeping = { readonly owner: string; at: number }

/** How much the asker can still take of a topic. */
export type RoomLeft = 'enough' | 'some' | 'none'

export type Attendance = {
  readonly topic: string
  readonly owner: string
  readonly room: RoomLeft
  /** How late the first of those was that it was handed. */
  readonly lateMs: number
  readonly hasHead: boolean
}

export type Bells = {
  /** Whether anybody heard it. */
  readonly ring: (owner: string) => boolean
  readonly listens: (owner: string) => boolean
  readonly ringAll: (but?: string) => void
}

export class ModelWatch {
  readonly #bells: Bells
  readonly #now: () => number
  readonly #lists = new Map<string, readonly Sleeping[]>()
  readonly #looks = new Map<string, Map<string, number>>()
  /** When those of a topic were woken last for what was due before. */
  readonly #wokenAt = new Map<string, number>()

  constructor(now: () => number, bells: Bells) {
    this.#now = now
    this.#bells = bells
  }

  /** Something that is due then entered before the head of a topic. */
  wake(topic: string, dueAt: number, giver: string | undefined): void {
    let heard = 0
    if (dueAt < this.#now() - LYING_MS) this.#wokenAt.set(topic, this.#now())
    const list = (this.#lists.get(topic) ?? []).filter(({ owner }) => {
      if (heard === WATCHERS) return true
      const hears = owner !== giver && this.#bells.ring(owner) // Who gave it back has no room for it.
      if (hears) heard += 1
      return hears
    })
    this.#lists.set(topic, list)
    if (heard === 0) this.#bells.ringAll(giver)
  }

  /** Whether the topic ever had a message while somebody asked. */
  knows(topic: string): boolean {
    return this.#lists.has(topic)
  }

  /** The asker takes its place, or leaves it. Returns whether it watches the topic now. */
  attend({ topic, owner, room, lateMs, hasHead }: Attendance): boolean {
    const before = this.#lists.get(topic) ?? []
    const lyingMs = Math.min(lateMs, this.#now() - (this.#wokenAt.get(topic) ?? -Infinity))
    const isWatching = this.#watchers(topic).includes(owner)
    const looksAround = !isWatching && (lyingMs > LYING_MS || room !== 'none')
    const left = before.filter(
      (one, place) => !looksAround || place >= WATCHERS || one.owner === owner || this.#counts(one, lyingMs),
    )
    const helped = isWatching && lyingMs > LYING_MS ? this.#withHelp(left) : left
    const list = this.#seated(helped, owner, room)
    if (list.length !== before.length || list.some((one, place) => one !== before[place]))
      this.#change(topic, list, owner, hasHead)
    return this.#watchers(topic).includes(owner)
  }

  /** A watcher is behind: the next of the list helps, and another one the next time. */
  #withHelp(list: readonly Sleeping[]): readonly Sleeping[] {
    const [helper] = list.slice(WATCHERS)
    if (helper === undefined) return list
    const rest = without(list, helper.owner)
    return this.#bells.ring(helper.owner) ? [...rest, helper] : rest
  }

  /** The list after the asker took a place in it, or left it. */
  #seated(list: readonly Sleeping[], owner: string, room: RoomLeft): readonly Sleeping[] {
    const isKnown = list.some((one) => one.owner === owner)
    if (isKnown) return room === 'none' || (room === 'some' && list.length > 1) ? without(list, owner) : list
    const joins = (room === 'enough' || (room === 'some' && list.length === 0)) && list.length < KNOWN_MAX
    return joins ? [...list, { owner, at: this.#now() }] : list
  }

  /** It can take none of a topic now. */
  resign(topic: string, owner: string, hasHead: boolean): void {
    const list = this.#lists.get(topic) ?? []
    if (list.some((one) => one.owner === owner)) this.#change(topic, without(list, owner), owner, hasHead)
  }

  /** When it looks again. Who asks before its moment keeps that; beyond the fallback, only while enough others look within it. */
  look(
    set: string,
    owner: string,
    { fallbackMs, lookMsMax = LOOK_MS_MAX }: Pick<SleepingAsker, 'fallbackMs' | 'lookMsMax'>,
    isWatching: boolean,
  ): number {
    const now = this.#now()
    const looks = this.#looks.get(set) ?? new Map<string, number>()
    this.#looks.set(set, looks)
    for (const [other, at] of looks) if (at < now - LATE_MS) looks.delete(other)
    const own = looks.get(owner)
    const soonest = now + fallbackMs
    const kept = own !== undefined && own > now + EARLY_MS ? own : undefined
    if (kept !== undefined && kept <= soonest) return kept
    looks.delete(owner)
    const near = [...looks].filter(([, at]) => at >= now - LATE_MS && at <= soonest)
    const isSpared = !isWatching && near.length >= NEAR_MIN
    const spread = Math.min(Math.max(...looks.values()) + APART_MS, now + lookMsMax)
    const later = Math.max(soonest, own === undefined ? spread : now + lookMsMax)
    const isKept = isSpared && kept !== undefined && kept <= now + lookMsMax
    // Who was killed leaves its looks behind.
    const isSafe = isSpared && near.filter(([other]) => this.#bells.listens(other)).length >= NEAR_MIN
    const at = isKept ? kept : isSafe ? later : soonest
    looks.set(owner, at)
    return at
  }

  forgetLooks(owner: string, butOf?: string): void {
    for (const [set, looks] of this.#looks) if (set !== butOf) looks.delete(owner)
  }

  /** It will be heard of by then. */
  expect(owner: string, topics: Iterable<string>, at: number): void {
    for (const topic of topics)
      for (const one of this.#lists.get(topic) ?? []) if (one.owner === owner) one.at = at
  }

  /** Those who come to watch by a change hear of it; with nobody left, all do. */
  #change(topic: string, list: readonly Sleeping[], asker: string, hasHead: boolean): void {
    const before = this.#watchers(topic)
    const rest = hasHead ? this.#callUp(list, [...before, asker]) : list
    this.#lists.set(topic, rest)
    if (hasHead && rest.length === 0) this.#bells.ringAll()
  }

  /** The list without those who came to the front and do not hear. */
  #callUp(list: readonly Sleeping[], informed: readonly string[]): readonly Sleeping[] {
    let [rest, watching] = [list, 0]
    while (watching < Math.min(WATCHERS, rest.length)) {
      const { owner = '' } = rest[watching] ?? {}
      if (informed.includes(owner) || this.#bells.ring(owner)) watching += 1
      else rest = without(rest, owner)
    }
    return rest
  }

  #counts({ owner, at }: Sleeping, lateMs: number): boolean {
    return lateMs <= LYING_MS && at + LATE_MS >= this.#now() && this.#bells.listens(owner)
  }

  #watchers(topic: string): readonly string[] {
    return (this.#lists.get(topic) ?? []).slice(0, WATCHERS).map(({ owner }) => owner)
  }
}

function without(list: readonly Sleeping[], owner: string): readonly Sleeping[] {
  return list.filter((one) => one.owner !== owner)
}
