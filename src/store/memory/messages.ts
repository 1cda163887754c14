/**
 * What can happen to one message, each verb whole: the table, the counts of its topic, its place in wheel or line and
 * its lease always change together.
 */
import type { TopicControl } from '../../core/controls.ts'
import type { KeyLimit } from '../../core/keys.ts'
import { assertNever } from '../../core/errors.ts'
import { followUpsOf } from '../contract/sizes.ts'
import type * as contract from '../contract/store.ts'
import { boundedMoment, dueAtOf, isOwnWord, isStorable } from '../shared/moments.ts'
import type { KeyRules } from './keys/keys.ts'
import { Leases } from './leases.ts'
import { RememberedIds, rememberedMessage } from './remembered.ts'
import { Sleepers } from './sleepers.ts'
import { DEAD, MessageTable, RUNNING, WAITING, keyPart, type NewContent } from './table.ts'
import { TagIndex } from './tags.ts'
import type { Topic, Topics } from './topics.ts'
import { Waiting, type Entry } from './waiting.ts'

export class Messages {
  readonly table = new MessageTable()
  readonly sleepers = new Sleepers()
  readonly tags = new TagIndex()
  readonly remembered = new RememberedIds()
  readonly waiting: Waiting
  readonly topics: Topics
  readonly leases: Leases
  /** By topic; '' is the whole queue. */
  readonly controls = new Map<string, TopicControl>()
  /** By topic and key: limits of single keys. */
  readonly keyLimits = new Map<string, Map<string, KeyLimit>>()

  constructor(now: number) {
    this.waiting = new Waiting(this.table, this.sleepers, (topic) => this.#rulesOf(topic), now)
    this.topics = this.waiting.topics
    this.leases = new Leases(now)
  }

  /** The clock was set back: everything finds its place anew. */
  restart(now: number): void {
    this.waiting.restart(now)
    this.leases.restart(now)
  }

  /** What the keys of the topic are allowed has changed. */
  ruleKeys(topic: string): void {
    this.topics.named(topic)?.keys?.rule(this.#rulesOf(topic))
  }

  #rulesOf(topic: string): KeyRules {
    return { perKey: this.controls.get(topic)?.limit.perKey, own: this.keyLimits.get(topic) }
  }

  topicOf(slot: number): Topic {
    return this.topics.numbered(this.table.topic[slot] as number)
  }

  /** Places one new message: of a `put`, or one that a settlement carries. */
  put(message: contract.NewMessage, now: number): contract.PutResult {
    const existing = this.table.slotOf(message.id)
    const { ifBody } = message
    if (ifBody !== undefined && (existing === undefined || this.table.body(existing) !== ifBody))
      return 'duplicate'
    if (existing !== undefined) {
      if (message.ifExists === 'keep') return 'duplicate'
      if (this.table.state(existing) === RUNNING && message.ifExists === 'replace')
        return this.#succeed(existing, message, now)
    } else if (message.ifExists === 'keep' && this.remembered.find(message.id, now) !== undefined) {
      return 'duplicate'
    }
    this.remembered.delete(message.id)
    this.#place(message, boundedMoment(message, this.#producedAt(existing), now), now)
    return existing === undefined ? 'stored' : 'replaced'
  }

  /** Takes the place of what stands for its id, if anything does. */
  #place(
    message: contract.NewMessage,
    moment: { readonly dueAt: number; readonly producedAt: number },
    now: number,
  ): void {
    const existing = this.table.slotOf(message.id)
    if (existing !== undefined && this.table.state(existing) === RUNNING) this.#finish(existing, now)
    else if (existing !== undefined) this.#discard(existing)
    const { topic, slot } = this.add(message, moment)
    this.topics.enter(topic, 'waiting')
    this.waiting.enter(slot, { now })
  }

  /** A row and its tags; the caller says where it stands. */
  add(
    message: NewContent,
    moment: { readonly dueAt: number; readonly producedAt: number },
  ): { readonly topic: Topic; readonly slot: number } {
    const topic = this.topics.intern(message.topic)
    const slot = this.table.add(message, topic.number, moment)
    this.tags.add(this.table.tags(slot), slot, this.table.order[slot] as number)
    return { topic, slot }
  }

  /** Of one that waits. */
  #producedAt(slot: number | undefined): number | undefined {
    return slot === undefined || this.table.state(slot) !== WAITING ? undefined : this.table.producedAt[slot]
  }

  /** It waits for the end of the one that runs, in place of any other that does. */
  #succeed(slot: number, message: contract.NewMessage, now: number): contract.PutResult {
    const { table } = this
    const moment = boundedMoment(message, table.successor(slot)?.producedAt, now)
    this.#dropSuccessor(slot)
    const topic = this.topics.intern(message.topic)
    const successor = { message, topic: topic.number, order: table.nextOrder(), ...moment }
    this.topics.enter(topic, 'waiting')
    this.tags.add(this.#tagsAdded(slot, message), slot, successor.order)
    table.setSuccessor(slot, successor)
    return 'succeeds'
  }

  #dropSuccessor(slot: number): void {
    const successor = this.table.successor(slot)
    if (successor === undefined) return
    this.table.setSuccessor(slot, undefined)
    this.tags.remove(this.#tagsAdded(slot, successor.message), successor.order)
    this.topics.leave(this.topics.numbered(successor.topic), 'waiting')
  }

  /** The tags of a successor that its predecessor does not have. */
  #tagsAdded(slot: number, { tags = [] }: contract.NewMessage): readonly string[] {
    return tags.filter((tag) => !this.table.tags(slot).includes(tag))
  }

  remove(
    id: string,
    from: 'waiting' | 'dead',
    { now, isRunningToo = false }: contract.RemoveOptions & { readonly now: number },
  ): contract.RemoveResult {
    const slot = this.table.slotOf(id)
    if (slot === undefined) return this.#forget(id, from, now)
    const state = this.table.state(slot)
    if (state === RUNNING) {
      this.#dropSuccessor(slot)
      if (!isRunningToo) return 'running'
      this.table.setCancelling(slot)
      this.sleepers.wakeAll('cancelling')
      return 'cancelling'
    }
    if (state !== (from === 'waiting' ? WAITING : DEAD)) return 'missing'
    this.#discard(slot)
    return 'removed'
  }

  reschedule({ id, when }: contract.Move, now: number): contract.RescheduleResult {
    const slot = this.table.slotOf(id)
    if (slot === undefined || this.table.state(slot) === DEAD) return 'missing'
    if (this.table.state(slot) === RUNNING) {
      const successor = this.table.successor(slot)
      if (successor === undefined) return 'running'
      this.table.setSuccessor(slot, { ...successor, dueAt: dueAtOf(when, now) })
      return 'rescheduled'
    }
    this.waiting.leave(slot)
    this.table.setMoment(slot, dueAtOf(when, now))
    this.waiting.enter(slot, { now })
    return 'rescheduled'
  }

  revive(id: string, now: number): contract.ReviveResult {
    const slot = this.table.slotOf(id)
    if (slot === undefined || this.table.state(slot) !== DEAD) return 'missing'
    this.table.unbury(slot)
    this.table.setError(slot, '')
    this.table.setLapses(slot, 0)
    this.table.attempt[slot] = 0
    this.table.setMoment(slot, now)
    this.#wait(slot, 'dead', { now })
    return 'revived'
  }

  /** A ready one that has just left its line. */
  lease(slot: number, now: number, request: contract.ClaimRequest): contract.Lease {
    const topic = this.topicOf(slot)
    if (this.table.key(slot) !== undefined) topic.keys?.serve(slot, now)
    this.topics.enter(topic, 'running')
    this.topics.leave(topic, 'waiting')
    this.table.setState(slot, RUNNING)
    this.table.addAttempt(slot, 1)
    return this.#grant(slot, now, request)
  }

  takeOver(slot: number, now: number, request: contract.ClaimRequest): contract.Lease {
    this.leases.end(slot)
    return this.#grant(slot, now, request)
  }

  extend(lease: contract.LeaseRef, endsAt: number): contract.ExtendResult {
    const slot = this.#slotHeldBy(lease)
    if (slot === undefined) return 'lost'
    this.leases.extend(slot, endsAt)
    return this.table.isCancelling(slot) ? 'cancelling' : 'extended'
  }

  settle(settlement: contract.Settlement, now: number): contract.SettleResult {
    const slot = this.#slotHeldBy(settlement)
    if (slot === undefined) return 'lost'
    if (!isStorable(settlement)) return 'refused'
    const giver = settlement.kind === 'release' ? this.leases.ownerOf(slot) : undefined
    const isCancelled = this.table.isCancelling(slot) && !isOwnWord(settlement)
    const successor = this.table.successor(slot)
    const keyed = this.table.key(slot) === undefined ? undefined : this.topicOf(slot)
    if (isCancelled || successor !== undefined) this.#finish(slot, now)
    else this.#settleHeld(slot, settlement, { now, giver })
    if (!isCancelled) for (const message of followUpsOf(settlement)) this.put(message, now)
    if (successor !== undefined) this.#place(successor.message, successor, now)
    if (keyed !== undefined) this.waiting.keyFreed(keyed, settlement.kind === 'release' ? giver : undefined)
    if (isCancelled) return 'cancelled'
    return successor === undefined || settlement.kind === 'ack' ? 'settled' : 'succeeded'
  }

  #settleHeld(
    slot: number,
    settlement: contract.Settlement,
    { now, giver }: { readonly now: number; readonly giver: string | undefined },
  ): void {
    if (this.controls.size > 0) this.#noteFreed(this.topicOf(slot), giver)
    if (settlement.kind === 'ack') {
      if (settlement.remember !== undefined) this.#remember(slot, settlement.remember, now)
      return this.#finish(slot, now)
    }
    this.leases.end(slot)
    switch (settlement.kind) {
      case 'again':
        this.table.addAttempt(slot, -1)
        if (settlement.keepsLapses !== true) this.table.setLapses(slot, 0)
        this.table.setMoment(slot, dueAtOf(settlement.when, now))
        if (settlement.content !== undefined) this.table.setContent(slot, settlement.content)
        this.#wait(slot, 'running', { now })
        break
      case 'retry':
        this.table.setError(slot, settlement.error)
        this.table.setLapses(slot, settlement.isLapse === true ? this.table.lapses(slot) + 1 : 0)
        this.table.putOff(slot, now + settlement.delayMs)
        this.#wait(slot, 'running', { now, isHolding: true })
        break
      case 'lapse':
        this.table.setError(slot, settlement.error)
        this.table.setLapses(slot, this.table.lapses(slot) + 1)
        this.#wait(slot, 'running', { now, isHolding: true })
        break
      case 'release':
        this.table.addAttempt(slot, -1)
        this.#wait(slot, 'running', { now, releasedBy: giver })
        break
      case 'dead':
        this.table.setError(slot, settlement.error)
        this.table.bury(slot, settlement.reason, now)
        this.#endKeyed(slot, now)
        this.topics.enter(this.topicOf(slot), 'dead')
        this.topics.leave(this.topicOf(slot), 'running')
        break
      default:
        assertNever(settlement)
    }
  }

  /** One that runs ends. At its limit, that lets another one start, and no worker knows yet that it waits. */
  #noteFreed({ name, running }: Topic, releasedBy: string | undefined): void {
    const concurrency = this.controls.get(name)?.limit.concurrency
    if (running === concurrency) this.sleepers.note(releasedBy)
  }

  #grant(slot: number, now: number, { owner, leaseMs, from }: contract.ClaimRequest): contract.Lease {
    const { table } = this
    const dueAt = table.dueAt[slot] as number
    return {
      id: table.id(slot),
      token: this.leases.grant(slot, owner, {
        since: now,
        endsAt: now + leaseMs,
        isTakenOver: from === 'lapsed',
      }),
      topic: this.topicOf(slot).name,
      body: table.body(slot),
      meta: table.meta(slot),
      ...keyPart(table.key(slot)),
      priority: table.priority(slot),
      dueAt,
      firstDueAt: table.firstDueAt(slot),
      attempt: table.attempt[slot] as number,
      lapses: table.lapses(slot),
      latenessMs: now - dueAt,
    }
  }

  #wait(slot: number, from: 'running' | 'dead', entry: Entry): void {
    const topic = this.topicOf(slot)
    this.table.setState(slot, WAITING)
    this.topics.enter(topic, 'waiting')
    this.topics.leave(topic, from)
    this.waiting.enter(slot, { ...entry, isBack: from === 'running' })
  }

  /** It runs no more, and its key may go on. */
  #endKeyed(slot: number, now: number): void {
    if (this.table.key(slot) !== undefined) this.topicOf(slot).keys?.end(slot, now)
  }

  /** A running one leaves for good. */
  #finish(slot: number, now: number): void {
    this.leases.end(slot)
    this.#endKeyed(slot, now)
    this.topics.leave(this.topicOf(slot), 'running')
    this.#drop(slot)
  }

  /** A waiting or dead one leaves for good. Its ghost in a line is recognised there. */
  #discard(slot: number): void {
    const isDead = this.table.state(slot) === DEAD
    if (!isDead) this.waiting.leave(slot)
    this.topics.leave(this.topicOf(slot), isDead ? 'dead' : 'waiting')
    this.#drop(slot)
  }

  #remember(slot: number, { ms, outcome, result }: contract.Remember, now: number): void {
    const done = rememberedMessage(this.table, slot, this.topicOf(slot).name)
    this.remembered.add({ ...done, until: now + ms, outcome, result })
  }

  #forget(id: string, from: 'waiting' | 'dead', now: number): contract.RemoveResult {
    const isKnown = this.remembered.find(id, now) !== undefined
    this.remembered.delete(id)
    return isKnown && from === 'dead' ? 'removed' : 'missing'
  }

  #drop(slot: number): void {
    this.#dropSuccessor(slot)
    this.tags.remove(this.table.tags(slot), this.table.order[slot] as number)
    this.table.drop(slot)
  }

  #slotHeldBy({ id, token }: contract.LeaseRef): number | undefined {
    const slot = this.table.slotOf(id)
    return slot !== undefined && this.leases.isHeld(slot, token) ? slot : undefined
  }
}
