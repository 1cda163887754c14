/**
 * What can happen to one message, each verb whole: the table, the counts of its topic, its place in wheel or line and
 * its lease always change together.
 */
import type { TopicControl } from '../../core/controls.ts'
import { assertNever } from '../../core/errors.ts'
import { followUpsOf } from '../contract/sizes.ts'
import type * as contract from '../contract/store.ts'
import { dueAtOf, isStorable } from '../shared/moments.ts'
import { Leases } from './leases.ts'
import { RememberedIds } from './remembered.ts'
import { Sleepers } from './sleepers.ts'
import { DEAD, MessageTable, RUNNING, WAITING } from './table.ts'
import { TagIndex } from './tags.ts'
import type { Topic, Topics } from './topics.ts'
import { Waiting } from './waiting.ts'

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

  constructor(now: number) {
    this.waiting = new Waiting(this.table, this.sleepers, now)
    this.topics = this.waiting.topics
    this.leases = new Leases(now)
  }

  /** The clock was set back: everything finds its place anew. */
  restart(now: number): void {
    this.waiting.restart(now)
    this.leases.restart(now)
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
      if (this.table.state(existing) !== RUNNING) this.#discard(existing)
      else if (message.ifExists === 'seize') this.#finish(existing)
      else return 'running'
    } else if (message.ifExists === 'keep' && this.remembered.find(message.id, now) !== undefined) {
      return 'duplicate'
    }
    this.remembered.delete(message.id)
    const topic = this.topics.intern(message.topic)
    const slot = this.table.add(message, topic.number, { dueAt: dueAtOf(message.when, now), now })
    this.tags.add(this.table.tags(slot), slot, this.table.order[slot] as number)
    this.topics.enter(topic, 'waiting')
    this.waiting.enter(slot)
    return existing === undefined ? 'stored' : 'replaced'
  }

  remove(id: string, from: 'waiting' | 'dead', now: number): contract.RemoveResult {
    const slot = this.table.slotOf(id)
    if (slot === undefined) return this.#forget(id, from, now)
    const state = this.table.state(slot)
    if (state === RUNNING) return 'running'
    if (state !== (from === 'waiting' ? WAITING : DEAD)) return 'missing'
    this.#discard(slot)
    return 'removed'
  }

  reschedule({ id, when }: contract.Move, now: number): contract.RescheduleResult {
    const slot = this.table.slotOf(id)
    if (slot === undefined || this.table.state(slot) === DEAD) return 'missing'
    if (this.table.state(slot) === RUNNING) return 'running'
    this.waiting.leave(slot)
    this.table.setMoment(slot, dueAtOf(when, now))
    this.waiting.enter(slot)
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
    this.#wait(slot, 'dead')
    return 'revived'
  }

  /** A ready one that has just left its line. */
  lease(slot: number, now: number, request: contract.ClaimRequest): contract.Lease {
    const topic = this.topicOf(slot)
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
    return 'extended'
  }

  settle(settlement: contract.Settlement, now: number): contract.SettleResult {
    const slot = this.#slotHeldBy(settlement)
    if (slot === undefined) return 'lost'
    const followUps = followUpsOf(settlement)
    if (!isStorable(settlement) || followUps.some((message) => this.#cannotPlace(message, slot)))
      return 'refused'
    this.#settleHeld(slot, settlement, now)
    for (const message of followUps) this.put(message, now)
    return 'settled'
  }

  #settleHeld(slot: number, settlement: contract.Settlement, now: number): void {
    const giver = settlement.kind === 'release' ? this.leases.ownerOf(slot) : undefined
    if (this.controls.size > 0) this.#noteFreed(this.topicOf(slot), giver)
    if (settlement.kind === 'ack') {
      if (settlement.remember !== undefined) this.#remember(slot, settlement.remember, now)
      return this.#finish(slot)
    }
    this.leases.end(slot)
    switch (settlement.kind) {
      case 'again':
        this.table.addAttempt(slot, -1)
        this.table.setLapses(slot, 0)
        this.table.setMoment(slot, dueAtOf(settlement.when, now))
        if (settlement.content !== undefined) this.table.setContent(slot, settlement.content)
        this.#wait(slot, 'running')
        break
      case 'retry':
        this.table.setError(slot, settlement.error)
        this.table.setLapses(slot, settlement.isLapse === true ? this.table.lapses(slot) + 1 : 0)
        this.table.putOff(slot, now + settlement.delayMs)
        this.#wait(slot, 'running')
        break
      case 'lapse':
        this.table.setError(slot, settlement.error)
        this.table.setLapses(slot, this.table.lapses(slot) + 1)
        this.#wait(slot, 'running')
        break
      case 'release':
        this.table.addAttempt(slot, -1)
        this.#wait(slot, 'running', giver)
        break
      case 'dead':
        this.table.setError(slot, settlement.error)
        this.table.bury(slot, settlement.reason, now)
        this.topics.enter(this.topicOf(slot), 'dead')
        this.topics.leave(this.topicOf(slot), 'running')
        break
      default:
        assertNever(settlement)
    }
  }

  /** One that runs ends. At its limit, that lets another one start, which nobody was told to wait for. */
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
      priority: table.priority(slot),
      dueAt,
      firstDueAt: table.firstDueAt(slot),
      attempt: table.attempt[slot] as number,
      lapses: table.lapses(slot),
      latenessMs: now - dueAt,
    }
  }

  #wait(slot: number, from: 'running' | 'dead', releasedBy?: string): void {
    const topic = this.topicOf(slot)
    this.table.setState(slot, WAITING)
    this.topics.enter(topic, 'waiting')
    this.topics.leave(topic, from)
    this.waiting.enter(slot, releasedBy)
  }

  /** Whether it would replace another that runs. */
  #cannotPlace({ id, ifExists }: contract.NewMessage, parent: number): boolean {
    const slot = this.table.slotOf(id)
    if (slot === undefined || slot === parent || ifExists !== 'replace') return false
    return this.table.state(slot) === RUNNING
  }

  /** A running one leaves for good. */
  #finish(slot: number): void {
    this.leases.end(slot)
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
    const { table } = this
    this.remembered.add({
      id: table.id(slot),
      topic: this.topicOf(slot).name,
      body: '',
      meta: '',
      tags: [],
      priority: table.priority(slot),
      state: 'completed',
      dueAt: table.dueAt[slot] as number,
      firstDueAt: table.firstDueAt(slot),
      producedAt: table.producedAt[slot] as number,
      attempt: table.attempt[slot] as number,
      lapses: 0,
      error: '',
      reason: '',
      until: now + ms,
      owner: '',
      leasedAt: 0,
      outcome,
      result,
    })
  }

  #forget(id: string, from: 'waiting' | 'dead', now: number): contract.RemoveResult {
    const isKnown = this.remembered.find(id, now) !== undefined
    this.remembered.delete(id)
    return isKnown && from === 'dead' ? 'removed' : 'missing'
  }

  #drop(slot: number): void {
    this.tags.remove(this.table.tags(slot), this.table.order[slot] as number)
    this.table.drop(slot)
  }

  #slotHeldBy({ id, token }: contract.LeaseRef): number | undefined {
    const slot = this.table.slotOf(id)
    return slot !== undefined && this.leases.isHeld(slot, token) ? slot : undefined
  }
}
