/**
 * Fetches due messages for the consumers: asks for no more than can be started now or soon, topic by topic, and says
 * whether there is room for more. What it asks for is decided by the lanes; when it asks, by the scheduler.
 *
 * Where a store counts on its sleepers, each claim says which topics have no room here; and a worker that has room for
 * none says so in a claim that wants nothing, so that others are told and woken in its place.
 *
 * A claim takes only so many topics. Those of a worker with more are asked for in several claims, and the worker sleeps
 * only after it has asked for all of them.
 *
 * Of a topic with a limit the store hands out no more than can start at once (`free`), and its answer does not speak of
 * what lies beyond that. So when it has used up what we offered, the lane counts as left out, and is asked for again as
 * soon as one of its slots is free.
 *
 * Each partition of a queue has a dispatcher of its own; they share the room by the rota. A lane that has none only because
 * of what the others have asked for is put off: it is asked for later, together with all others, and the store is not told
 * that it is busy. (Asked for alone, it would leave others out in turn, and two partitions could go on like that for
 * ever.) A claim that puts lanes off says nothing about our sleep: stores count who looks at which set of topics.
 */
import type { Clock } from '../../clock.ts'
import type { ClaimDue, ClaimReply, Next, Store, Want } from '../../store/contract/store.ts'
import type { Consumers } from '../consumers.ts'
import type { Identity } from '../identity.ts'
import { NOTHING_PROMISED, type Promised, type Rota, type RotaMember } from './rota.ts'
import { topicFactsOf, type Lane, type TopicFacts } from '../runs/lane.ts'
import { AHEAD_BYTES_MAX, type Lanes } from '../runs/lanes.ts'
import type { RunSource } from '../runs/run.ts'
import type { ClaimReading } from './scheduler.ts'
import type { Settler } from '../leases/settler.ts'
import type { Strays } from './strays.ts'

/** One claim asks for at most this: the next one is then under way while these are being run. */
const CLAIM_MAX = 500

export type DispatcherParts = {
  readonly clock: Clock
  /** One partition of the queue. */
  readonly store: Store
  readonly source: RunSource
  readonly rota: Rota
  readonly identity: Identity
  readonly strays: Strays
  readonly lanes: Lanes
  readonly consumers: Consumers
  readonly settler: Settler
  readonly leaseMs: number
  readonly fallbackMs: number
  /** Leases were handed out: somebody should watch over them. */
  readonly onLeased: () => void
  /** The store says in how many ms leases of others are to be seen to, and when the next claim comes. */
  readonly onTold: (lapseMs: number, lookMs: number) => void
  readonly onFailure: (error: unknown) => void
  /** What was held back for want of room can be asked for. */
  readonly onRoom: () => void
  readonly onLook: () => void
}

const FULL: ClaimReading = { next: { state: 'NO_TASK' }, got: 0, room: false }
/** Room came while the store was told that there is none. */
const AGAIN: ClaimReading = { next: { state: 'EXPIRED' }, got: 0, room: true }

export class Dispatcher implements RotaMember {
  readonly #parts: DispatcherParts
  /** Lanes that the last claims left out: what is due for them, the store was not asked. */
  #leftOut: readonly Lane[] = []
  /** Of these, the ones that have no room whatever others ask for: the store should wake others for them. */
  #busy: readonly Lane[] = []
  /** Of these, the ones that others have asked for. */
  #putOff: readonly Lane[] = []
  /** Lanes that were put off, and not asked for since: with them we keep our place in the rota. */
  #awaited: readonly Lane[] = []
  #servedLast: Lane | undefined
  #isFull = false
  #roomPlanned = false
  #isStopped = false
  /** Room was offered to us in this turn of the event loop, and nobody else has it. */
  #isOffered = false
  /** The store was told that there is room for nothing here. */
  #isResigned = true

  constructor(parts: DispatcherParts) {
    this.#parts = parts
    parts.rota.join(this)
  }

  async fetch(): Promise<ClaimReading> {
    const { lanes, rota, settler } = this.#parts
    this.#isFull = false
    // Those who waited for us to be answered were just offered the room: they decide first.
    if (rota.isShared && !this.#isOffered) await new Promise<void>((resolve) => process.nextTick(resolve))
    const wants = settler.isStuck ? [] : this.#decideWants()
    const { wantsMax } = this.#parts.store.capabilities
    let reading: ClaimReading | undefined
    for (let from = 0; from < wants.length && !this.#isStopped; from += wantsMax) {
      const limit = this.#limit()
      if (limit === 0) {
        // The rest was not asked for: again, as soon as there is room.
        reading = reading === undefined ? undefined : { ...reading, next: { state: 'EXPIRED' } }
        break
      }
      const isLast = from + wantsMax >= wants.length
      const reply = await this.#claim(wants.slice(from, from + wantsMax), limit, isLast)
      reading = joined(reading, reply)
    }
    if (reading === undefined) return this.#askNothing()
    this.#isFull = !this.#hasRoom(lanes.all, NOTHING_PROMISED)
    if (lanes.limited.size > 0) this.noteRoom()
    return { ...reading, room: !this.#isFull }
  }

  /** There is no room, or other partitions have asked for it. */
  async #askNothing(): Promise<ClaimReading> {
    const { lanes, rota, settler } = this.#parts
    const isPromised = rota.promised(this).total > 0
    if (isPromised) rota.waits()
    else if (!settler.isStuck) await this.resign()
    this.#isFull = isPromised || !this.#hasRoom(lanes.all, NOTHING_PROMISED)
    return this.#isFull ? FULL : AGAIN
  }

  /** Says that this worker can take nothing now, to a store that counts on it. Such a claim hands nothing out. */
  async resign(): Promise<void> {
    const { lanes, store } = this.#parts
    if (this.#isResigned || store.capabilities.wakes !== 'some') return
    this.#isResigned = true
    await store.claim(this.#request([], 0, lanes.all))
  }

  /** Woken without room for anything: the store should wake others. */
  noteWake(): void {
    const { onFailure, rota } = this.#parts
    if (this.#isFull && !this.#isStopped && rota.promised(this).total === 0) this.resign().catch(onFailure)
  }

  /** Asks although nothing was told. */
  look(): void {
    this.#parts.onLook()
  }

  /** No claim begins after this, not even the next one of several. */
  stop(): void {
    this.#isStopped = true
  }

  /** A message of this lane went back, and no wake-up need tell us of it: we ask when there is room again. */
  noteReturned(lane: Lane): void {
    if (!this.#leftOut.includes(lane)) this.#leftOut = [...this.#leftOut, lane]
    this.noteRoom()
  }

  /** Called for every message that ends; looks once per turn of the event loop whether that makes a difference. */
  noteRoom(): void {
    if (this.#roomPlanned || (!this.#isFull && this.#leftOut.length === 0)) return
    this.#roomPlanned = true
    process.nextTick(() => {
      this.#roomPlanned = false
      const { onRoom, rota } = this.#parts
      if (this.#isStopped || rota.isAsking(this)) return // We are offered it again when we are answered.
      if (this.#mayAsk()) {
        this.#isOffered = true
        onRoom()
        this.#isOffered = false
      } else if (this.#putOff.length > 0) rota.waits()
    })
  }

  /** For lanes that had no room, or for those that were put off if all can be asked for. */
  #mayAsk(): boolean {
    const { lanes, rota } = this.#parts
    const promised = rota.promised(this)
    const full = this.#leftOut.filter((lane) => !this.#putOff.includes(lane))
    if (this.#hasRoom(this.#isFull ? lanes.all : full, promised)) return true
    return this.#putOff.length > 0 && this.#isWhole(promised)
  }

  async #claim(wants: readonly Want[], limit: number, isLast: boolean): Promise<ClaimReply> {
    const { clock, consumers, identity, lanes, rota, source, strays } = this.#parts
    const sentAt = clock.monotonic()
    const isWhole = this.#putOff.length === 0
    const request = isWhole ? this.#request(wants, limit, this.#busy) : this.#aside(wants, limit)
    if (isWhole) this.#isResigned = false
    if (this.#awaited.length === 0) rota.takesTurn(this)
    rota.asks(this, wants, limit)
    let reply: ClaimReply
    try {
      reply = await strays.claim(request, ({ leases }) => {
        consumers.take(source, leases, sentAt, clock.monotonic())
      })
    } finally {
      rota.answered(this)
    }
    if (request.facts !== undefined) identity.told()
    const { leases, next, lookMs, lapseMs } = reply
    if (lookMs !== undefined && lapseMs !== undefined) {
      this.#parts.onTold(lapseMs, lookMs)
      const isSpared = lookMs > this.#parts.fallbackMs + 1
      rota.noteLook(this, isSpared ? 'spared' : next.state === 'NO_TASK' ? 'needed' : 'watching')
    }
    const told = topicFactsOf(reply)
    if (told.size > 0 || lanes.areTold) this.#noteTold(request, reply, told)
    if (leases.length === 0) return reply
    this.#servedLast = lanes.get(leases.at(-1)?.topic ?? '')
    this.#parts.onLeased()
    // More is due: the next claim goes out first, and these are run while the store works on it.
    if (next.state === 'EXPIRED' || !isLast) clock.soon(() => consumers.startDue())
    else consumers.startDue()
    return reply
  }

  #request(wants: readonly Want[], limit: number, busy: readonly Lane[]): ClaimDue {
    const { fallbackMs, identity, lanes, leaseMs, rota, store } = this.#parts
    const { lookMsMax } = rota
    const { batchBytesMax, leadMs, wakes, wantsMax } = store.capabilities
    const facts = identity.facts()
    return {
      from: 'due',
      owner: identity.owner,
      ...(facts === undefined ? {} : { facts }),
      wants,
      limit,
      free: lanes.survey().free,
      bytesMax: Math.min(AHEAD_BYTES_MAX, batchBytesMax),
      leaseMs,
      leadMs,
      ...(wakes === 'some'
        ? {
            sleeper: {
              fallbackMs,
              ...(lookMsMax === undefined ? {} : { lookMsMax }),
              busy: busy.slice(0, wantsMax).map(({ topic }) => topic),
            },
          }
        : {}),
    }
  }

  /** A claim that speaks for some lanes only. */
  #aside(wants: readonly Want[], limit: number): ClaimDue {
    const { sleeper: _, ...request } = this.#request(wants, limit, [])
    return request
  }

  #decideWants(): readonly Want[] {
    const { lanes, rota } = this.#parts
    const survey = lanes.survey()
    const promised = rota.promised(this)
    const wants: Want[] = []
    const leftOut: Lane[] = []
    const busy: Lane[] = []
    const putOff: Lane[] = []
    for (let distance = 0; distance < lanes.all.length; distance += 1) {
      const lane = lanes.after(this.#servedLast, distance)
      if (lane === undefined) continue
      const room = lanes.roomFor(lane, survey)
      const limit = rota.share(Math.max(0, room - promised.of(lane.topic)))
      if (limit > 0) wants.push({ topic: lane.topic, limit, free: lanes.freeFor(lane) })
      else leftOut.push(lane)
      if (room <= 0) busy.push(lane)
      else if (limit === 0) putOff.push(lane)
    }
    this.#leftOut = leftOut
    this.#busy = busy
    this.#putOff = putOff
    const unasked = new Set(leftOut)
    this.#awaited = [...new Set([...this.#awaited, ...putOff])].filter((lane) => unasked.has(lane))
    return wants
  }

  /** Remembers what the store says of the topics, and which of those with a limit took all that could start. */
  #noteTold(
    { wants, free = 0 }: ClaimDue,
    { leases }: ClaimReply,
    told: ReadonlyMap<string, TopicFacts>,
  ): void {
    const { lanes, source } = this.#parts
    const got = new Map<string, number>()
    let gotLimited = 0
    for (const { topic } of leases) {
      got.set(topic, (got.get(topic) ?? 0) + 1)
      if (told.get(topic) === 'limited') gotLimited += 1
    }
    for (const want of wants) {
      const lane = lanes.get(want.topic)
      const facts = told.get(want.topic) ?? 'plain'
      if (lane === undefined) continue
      lanes.tell(lane, source, facts)
      const isUsedUp = gotLimited >= free || (got.get(want.topic) ?? 0) >= (want.free ?? 0)
      if (facts === 'limited' && isUsedUp && !this.#leftOut.includes(lane))
        this.#leftOut = [...this.#leftOut, lane]
    }
  }

  /** Our own messages come first within the room that users have, and have their own where users have none. */
  #limit(): number {
    const { lanes, rota, store } = this.#parts
    const left = roomLeft(lanes, rota.promised(this))
    return Math.min(rota.share(left), CLAIM_MAX, store.capabilities.batchMax)
  }

  /** Whether every lane that has room can be asked for. */
  #isWhole(promised: Promised): boolean {
    const { lanes, settler } = this.#parts
    const survey = lanes.survey()
    if (settler.isStuck || roomLeft(lanes, promised) === 0) return false
    const withRoom = lanes.all.filter((lane) => lanes.roomFor(lane, survey) > 0)
    return withRoom.every((lane) => lanes.roomFor(lane, survey) > promised.of(lane.topic))
  }

  #hasRoom(among: readonly Lane[], promised: Promised): boolean {
    const { lanes, settler } = this.#parts
    if (settler.isStuck) return false
    const survey = lanes.survey()
    return among.some(
      (lane) =>
        (survey.room - promised.total > 0 || lane.own !== undefined) &&
        lanes.isWorthwhile(lane, survey) &&
        lanes.roomFor(lane, survey) > promised.of(lane.topic),
    )
  }
}

function roomLeft(lanes: Lanes, { total }: Promised): number {
  const { room } = lanes.survey()
  return Math.max(0, (room || lanes.ownRoom()) - total)
}

/** What several claims brought, as one. */
function joined(reading: ClaimReading | undefined, { leases, next, lookMs }: ClaimReply): ClaimReading {
  const looks = [reading?.lookMs, lookMs].filter((ms) => ms !== undefined)
  return {
    next: sooner(reading?.next, next),
    got: (reading?.got ?? 0) + leases.length,
    room: true,
    ...(looks.length === 0 ? {} : { lookMs: Math.min(...looks) }),
  }
}

function sooner(a: Next | undefined, b: Next): Next {
  if (a === undefined || a.state === 'NO_TASK' || b.state === 'EXPIRED') return b
  if (a.state === 'EXPIRED' || b.state === 'NO_TASK') return a
  return a.ms <= b.ms ? a : b
}
