/**
 * Everything that waits: what is to come in the wheel, what is due in the line of its topic and priority.
 *
 * Also remembers what sleeping claimers were told, topic by topic: a message that is due before the latest moment until
 * which one of them may sleep must wake them, any other need not.
 */
import { TimingWheel } from '../../core/wheel/wheel.ts'
import type { Looks } from '../../core/wheel/wheel-lanes.ts'
import type { Next } from '../contract/store.ts'
import type { Gate } from '../shared/gates.ts'
import { nextOfBoth } from '../shared/moments.ts'
import type { Sleepers } from './sleepers.ts'
import { WAITING, type MessageTable } from './table.ts'
import { TopicKeys, type KeyRules } from './keys/keys.ts'
import { Topics, readyAtOf, type Topic } from './topics.ts'

/** How many messages one call moves from the wheel to the lines; a longer backlog is moved in several calls. */
const MOVE_MAX = 50_000
/** How many messages of other topics a claim looks at to find the next of its own; then it says a moment before it. */
const LOOKS_MAX = 2_000

export type GatedTopic = { readonly topic: Topic; readonly gate: Gate }

/** How a message begins to wait. */
export type Entry = {
  readonly now: number
  /** The owner that gave it back. It is not woken, and sleeps on as long as it was told before. */
  readonly releasedBy?: string | undefined
  /** By the store's doing, so that a serial key waits for it. */
  readonly isHolding?: boolean
  /** It ran until now. */
  readonly isBack?: boolean
}

export class Waiting {
  readonly topics = new Topics((slot, dueAt, order) => this.#isInLine(slot, dueAt, order))
  /** Topics that have keys, or had some when they were last looked at. */
  readonly #keyed = new Set<Topic>()
  readonly #table: MessageTable
  readonly #sleepers: Sleepers
  readonly #rulesOf: (topic: string) => KeyRules
  #wheel: TimingWheel
  /** For topics of our own, so that the other one counts what users have. */
  #ourWheel: TimingWheel

  constructor(table: MessageTable, sleepers: Sleepers, rulesOf: (topic: string) => KeyRules, now: number) {
    this.#table = table
    this.#sleepers = sleepers
    this.#rulesOf = rulesOf
    this.#wheel = new TimingWheel(now, table)
    this.#ourWheel = new TimingWheel(now, table)
  }

  /** How many of users' messages are not due yet, provided that `advance` has moved everything up to now. */
  get delayed(): number {
    return this.#wheel.size
  }

  enter(slot: number, { now, releasedBy, isHolding = false, isBack = false }: Entry): void {
    const topic = this.#topicOf(slot)
    const dueAt = this.#table.dueAt[slot] as number
    const isKeyed = this.#table.key(slot) !== undefined
    if (isKeyed && isBack) this.#keysOf(topic).putBack(slot, now, isHolding)
    else if (isKeyed) this.#keysOf(topic).enter(slot, now)
    this.#place(slot, dueAt)
    if (isKeyed && dueAt <= now) this.keyFreed(topic, releasedBy)
    else this.#wakeFor(topic, dueAt, releasedBy)
  }

  /** Out of the wheel. One that stands in a line leaves a ghost there, which is recognised when its turn comes. */
  leave(slot: number): void {
    this.#wheelOf(slot).cancel(slot)
    if (this.#table.key(slot) === undefined) return
    const topic = this.#topicOf(slot)
    topic.keys?.leave(slot)
    this.keyFreed(topic, undefined)
  }

  /** A key of the topic may have come to its turn. */
  keyFreed(topic: Topic, releasedBy: string | undefined): void {
    const readyAt = topic.keys?.readyAt()
    if (readyAt !== undefined) this.topics.notice(topic, readyAt)
    this.#wakeFor(topic, earlier(readyAt, topic.keys?.restsUntil()) ?? Infinity, releasedBy)
  }

  #wakeFor(topic: Topic, at: number, releasedBy: string | undefined): void {
    if (at >= topic.promisedAt) return
    this.#sleepers.note(releasedBy)
    if (releasedBy === undefined) topic.promisedAt = at
  }

  /** Moves what is due by `now` to the lines; false when there was too much for one call. */
  advance(now: number): boolean {
    const isAll = this.#wheel.advance(now, MOVE_MAX, (slot) => this.#enterLine(slot))
    return this.#ourWheel.advance(now, MOVE_MAX, (slot) => this.#enterLine(slot)) && isAll
  }

  /** Moves on the keys of these topics; which of them have any, and whether all is done. */
  advanceKeys(
    names: Iterable<string>,
    now: number,
  ): { readonly keyed: readonly string[]; readonly isAll: boolean } {
    const keyed: string[] = []
    let isAll = true
    if (this.#keyed.size === 0) return { keyed, isAll }
    for (const name of names) {
      const topic = this.topics.named(name)
      if (topic?.keys === undefined) continue
      isAll = topic.keys.advance(now) && isAll
      if (topic.keys.size > 0) keyed.push(name)
      else this.#forgetKeys(topic)
    }
    return { keyed, isAll }
  }

  #forgetKeys(topic: Topic): void {
    delete topic.keys
    this.#keyed.delete(topic)
    this.topics.letGo(topic)
  }

  /** Everything finds its place anew: by a clock that was set back, what was due may be to come again. */
  restart(now: number): void {
    this.#wheel = new TimingWheel(now, this.#table)
    this.#ourWheel = new TimingWheel(now, this.#table)
    this.topics.clearLines()
    for (const topic of this.topics.all()) topic.keys?.restart(now)
    for (let slot = 0; slot < this.#table.slots; slot += 1) {
      if (this.#table.state(slot) === WAITING) this.#place(slot, this.#table.dueAt[slot] as number)
    }
  }

  /** The moment of the earliest message that waits, our own left out. */
  nextDueAt(): number | undefined {
    return earlier(this.topics.firstReadyAt(), this.#wheel.nextAt())
  }

  nextDueAtOf(topic: Topic, looks: Looks): number | undefined {
    const wheel = topic.isOurs ? this.#ourWheel : this.#wheel
    const at = earlier(readyAtOf(topic), wheel.nextAtAmong([topic.number], looks))
    return topic.keys === undefined ? at : earlier(at, topic.keys.restsUntil())
  }

  /**
   * Tells a claimer how long it may sleep, and remembers it. Nothing of the open topics is due. Of a closed one nothing is
   * said, and nothing that comes into it wakes: what opens it does.
   */
  promise(open: readonly Topic[], gated: readonly GatedTopic[], now: number): Next {
    const lanes = open.filter(({ isOurs }) => !isOurs).map(({ number }) => number)
    const ours = open.filter(({ isOurs }) => isOurs).map(({ number }) => number)
    const looks = { left: LOOKS_MAX }
    const rested = open.map(({ keys }) => keys?.restsUntil()).reduce(earlier, undefined)
    const due = earlier(this.#wheel.nextAtAmong(lanes, looks), this.#ourWheel.nextAtAmong(ours, looks))
    const at = earlier(due, rested)
    for (const topic of open) topic.promisedAt = Math.max(topic.promisedAt, at ?? Infinity)
    let gatedAt = Infinity
    for (const { topic, gate } of gated) {
      if (gate.isClosed) continue
      const opensAt = gate.againAt(this.nextDueAtOf(topic, { left: LOOKS_MAX }), 0) ?? Infinity
      topic.promisedAt = Math.max(topic.promisedAt, opensAt)
      gatedAt = Math.min(gatedAt, opensAt)
    }
    return nextOfBoth(at, gatedAt, now)
  }

  #place(slot: number, dueAt: number): void {
    const wheel = this.#wheelOf(slot)
    if (dueAt > wheel.now) wheel.place(slot)
    else this.#enterLine(slot)
  }

  #wheelOf(slot: number): TimingWheel {
    return this.#topicOf(slot).isOurs ? this.#ourWheel : this.#wheel
  }

  #enterLine(slot: number): void {
    const table = this.#table
    if (table.key(slot) !== undefined) {
      const topic = this.#topicOf(slot)
      topic.keys?.comeDue(slot)
      this.topics.notice(topic, table.dueAt[slot] as number)
      return
    }
    const place = { slot, dueAt: table.dueAt[slot] as number, order: table.order[slot] as number }
    this.topics.lineUp(this.#topicOf(slot), table.priority(slot), place)
  }

  #keysOf(topic: Topic): TopicKeys {
    topic.keys ??= new TopicKeys(this.#table, this.#rulesOf(topic.name))
    this.#keyed.add(topic)
    return topic.keys
  }

  #topicOf(slot: number): Topic {
    return this.topics.numbered(this.#table.topic[slot] as number)
  }

  #isInLine(slot: number, dueAt: number, order: number): boolean {
    const table = this.#table
    return table.state(slot) === WAITING && table.dueAt[slot] === dueAt && table.order[slot] === order
  }
}

function earlier(a: number | undefined, b: number | undefined): number | undefined {
  const at = Math.min(a ?? Infinity, b ?? Infinity)
  return at === Infinity ? undefined : at
}
