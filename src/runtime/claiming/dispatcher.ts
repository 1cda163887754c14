/**
 * Fetches due messages for the consumers: asks for no more than can be started now or soon, topic by topic, and says
 * whether there is room for more. The lanes decide how much it asks for, the scheduler when, and the machine of
 * `core/machines/fetch` which lanes were left out and when that calls for another claim; its effects are performed here.
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
 * Each partition of a queue has a dispatcher of its own; they share the room (`sharing`). A lane that has none only because
 * of what the others have asked for is put off: it is asked for later, together with all others, and the store is not told
 * that it is busy. (Asked for alone, it would leave others out in turn, and two partitions could go on like that without
 * end.) A claim that puts lanes off says nothing about our sleep: stores count who looks at which set of topics.
 */
import type { Clock } from '../../clock.ts'
import { assertNever } from '../../core/errors.ts'
import {
  busyLanes,
  isWhole,
  startFetch,
  step,
  waitingLanes,
  type FetchEffect,
  type FetchEvent,
  type FetchState,
  type FoundRoom,
} from '../../core/machines/fetch.ts'
import type { ClaimDue, ClaimReply, Next, Store, Want } from '../../store/contract/store.ts'
import type { Consumers } from '../consumers.ts'
import type { Identity } from '../identity.ts'
import { NOTHING_PROMISED, PartitionRoom } from './room.ts'
import { topicFactsOf, type Lane } from '../runs/lane.ts'
import { AHEAD_BYTES_MAX, type Lanes } from '../runs/lanes.ts'
import type { RunSource } from '../runs/run.ts'
import type { ClaimReading } from './scheduler.ts'
import type { RoomSharing, Sharer } from './sharing.ts'
import type { Settler } from '../leases/settler.ts'
import type { Strays } from './strays.ts'

export type DispatcherParts = {
  readonly clock: Clock
  /** One partition of the queue. */
  readonly store: Store
  readonly source: RunSource
  /** With other partitions; undefined for a queue of one. */
  readonly sharing: RoomSharing | undefined
  readonly identity: Identity
  readonly strays: Strays
  readonly lanes: Lanes
  readonly consumers: Consumers
  readonly settler: Settler
  readonly leaseMs: number
  readonly fallbackMs: number
  /** Leases were handed out: somebody should watch over them. */
  readonly onLeased: () => void
  /** What a store that counts on its sleepers says of them. */
  readonly onTold: (told: SleeperWord) => void
  readonly onFailure: (error: unknown) => void
  /** What was held back for want of room can be asked for. */
  readonly onRoom: () => void
  /** How long we may be told to sleep at most; undefined: as the store thinks. */
  readonly lookMsMax: () => number | undefined
}

/** In how many ms leases of others are to be seen to, how long we may sleep, and what comes next. */
export type SleeperWord = { readonly lapseMs: number; readonly lookMs: number; readonly next: Next }

const NO_LANES: readonly Lane[] = []
/** Fed for every message that ends. */
const ROOM: FetchEvent<Lane> = { kind: 'room' }
const FULL: ClaimReading = { next: { state: 'NO_TASK' }, got: 0, room: false }
/** Room came while the store was told that there is none. */
const AGAIN: ClaimReading = { next: { state: 'EXPIRED' }, got: 0, room: true }

export class Dispatcher implements Sharer {
  readonly #parts: DispatcherParts
  readonly #room: PartitionRoom
  #state: FetchState<Lane>
  /** Until the store has heard that there is no room here. */
  #resigning: Promise<void> | undefined

  constructor(parts: DispatcherParts) {
    this.#parts = parts
    this.#state = startFetch(parts.store.capabilities.wakes === 'some' ? 'resigned' : 'uncounted')
    this.#room = new PartitionRoom(this, parts)
    parts.sharing?.join(this)
  }

  async fetch(): Promise<ClaimReading> {
    const isOffered = this.#state.look === 'offered'
    this.#feed({ kind: 'begin' })
    // Those who waited for us to be answered were just offered the room: they decide first.
    if (this.#parts.sharing !== undefined && !isOffered) await nextTick()
    try {
      return (await this.#claimAll()) ?? (await this.#pass())
    } catch (error) {
      this.#feed({ kind: 'failure' })
      throw error
    }
  }

  /** Woken: something is due. */
  noteWake(): void {
    this.#feed({ kind: 'wake', isPromised: this.#room.promised().total > 0 })
  }

  /** No claim begins after this, not even the next one of several; a store that counts on us wakes others in our place. */
  stop(): void {
    this.#feed({ kind: 'stop' })
  }

  /** A message of this lane went back, and no wake-up need tell us of it: we ask when there is room again. */
  noteReturned(lane: Lane): void {
    this.#feed({ kind: 'return', lane })
  }

  /** Called for every message that ends. */
  noteRoom(): void {
    this.#feed(ROOM)
  }

  #feed(event: FetchEvent<Lane>): void {
    const [state, effects] = step(this.#state, event)
    this.#state = state
    for (const effect of effects) this.#perform(effect)
  }

  #perform(effect: FetchEffect): void {
    const { onRoom, sharing } = this.#parts
    switch (effect) {
      case 'plan look':
        return process.nextTick(() => this.#feed({ kind: 'look', found: this.#findRoom() }))
      case 'offer':
        onRoom()
        return this.#feed({ kind: 'heard' })
      case 'wait':
        return sharing?.waits()
      case 'take turn':
        return sharing?.takesTurn(this)
      case 'resign':
        this.#resigning = this.#resign()
        return
      default:
        return assertNever(effect)
    }
  }

  /** In as many claims as the topics need. Undefined where there is nothing to ask for. */
  async #claimAll(): Promise<ClaimReading | undefined> {
    const { settler, store } = this.#parts
    const { batchMax, wantsMax } = store.capabilities
    const wants = settler.isStuck ? [] : this.#decideWants()
    let reading: ClaimReading | undefined
    for (let from = 0; from < wants.length && !this.#isStopped(); from += wantsMax) {
      const limit = Math.min(this.#room.limit(), batchMax)
      if (limit === 0) {
        // The rest was not asked for: again, as soon as there is room.
        reading = reading === undefined ? undefined : { ...reading, next: { state: 'EXPIRED' } }
        break
      }
      const isLast = from + wantsMax >= wants.length
      const reply = await this.#claim(wants.slice(from, from + wantsMax), limit, isLast)
      reading = joined(reading, reply)
    }
    if (reading === undefined) return undefined
    return { ...reading, room: this.#end() }
  }

  /** Nothing is asked for: there is no room, or other partitions have asked for it. */
  async #pass(): Promise<ClaimReading> {
    const isPromised = this.#room.promised().total > 0
    const isStuck = this.#parts.settler.isStuck
    this.#feed({ kind: 'pass', why: isPromised ? 'promised' : isStuck ? 'stuck' : 'busy' })
    await this.#resigning
    return this.#end(isPromised) ? AGAIN : FULL
  }

  /** Whether there is room for more. */
  #end(isPromised = false): boolean {
    const hasRoom = !isPromised && this.#room.isIn(this.#parts.lanes.all, NOTHING_PROMISED)
    this.#feed({ kind: 'end', hasRoom })
    return hasRoom
  }

  /** Says that this worker can take nothing now. Such a claim hands nothing out. */
  async #resign(): Promise<void> {
    const { lanes, onFailure, store } = this.#parts
    try {
      await store.claim(this.#request([], 0, lanes.all))
    } catch (error) {
      this.#feed({ kind: 'unheard' })
      onFailure(error)
    }
  }

  #findRoom(): FoundRoom {
    const { lanes, sharing } = this.#parts
    if (sharing?.isAsking(this) === true) return 'answer due'
    const promised = this.#room.promised()
    if (this.#room.isIn(waitingLanes(this.#state, lanes.all), promised)) return 'some'
    return !isWhole(this.#state) && this.#room.isForAll(promised) ? 'all' : 'none'
  }

  async #claim(wants: readonly Want[], limit: number, isLast: boolean): Promise<ClaimReply> {
    const { clock, consumers, identity, lanes, sharing, source, strays } = this.#parts
    const sentAt = clock.monotonic()
    const request = isWhole(this.#state)
      ? this.#request(wants, limit, busyLanes(this.#state))
      : this.#aside(wants, limit)
    this.#feed({ kind: 'claim' })
    sharing?.asks(this, wants, limit)
    let reply: ClaimReply
    try {
      reply = await strays.claim(request, ({ leases }) => {
        consumers.take(source, leases, sentAt, clock.monotonic())
      })
    } finally {
      sharing?.answered(this)
    }
    if (request.facts !== undefined) identity.told()
    const { leases, lapseMs, lookMs, next } = reply
    if (lookMs !== undefined && lapseMs !== undefined) this.#parts.onTold({ lapseMs, lookMs, next })
    const last = lanes.get(leases.at(-1)?.topic ?? '')
    this.#feed({ kind: 'answer', last, usedUp: this.#noteTold(request, reply) })
    if (leases.length === 0) return reply
    this.#parts.onLeased()
    // More is due: the next claim goes out first, and these are run while the store works on it.
    if (next.state === 'EXPIRED' || !isLast) clock.soon(() => consumers.startDue())
    else consumers.startDue()
    return reply
  }

  #request(wants: readonly Want[], limit: number, busy: readonly Lane[]): ClaimDue {
    const { fallbackMs, identity, lanes, leaseMs, store } = this.#parts
    const lookMsMax = this.#parts.lookMsMax()
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
    const { rooms, wants } = this.#room.survey(this.#state.servedLast)
    this.#feed({ kind: 'survey', lanes: rooms })
    return wants
  }

  /** Remembers what the store says of the topics; answers which of those with a limit took all that could start. */
  #noteTold({ wants, free = 0 }: ClaimDue, reply: ClaimReply): readonly Lane[] {
    const { lanes, source } = this.#parts
    const told = topicFactsOf(reply)
    if (told.size === 0 && !lanes.areTold) return NO_LANES
    const got = new Map<string, number>()
    let gotLimited = 0
    for (const { topic } of reply.leases) {
      got.set(topic, (got.get(topic) ?? 0) + 1)
      if (told.get(topic) === 'limited') gotLimited += 1
    }
    return wants.flatMap(({ topic, free: freeHere = 0 }) => {
      const lane = lanes.get(topic)
      if (lane === undefined) return []
      const facts = told.get(topic) ?? 'plain'
      lanes.tell(lane, source, facts)
      const isUsedUp = gotLimited >= free || (got.get(topic) ?? 0) >= freeHere
      return facts === 'limited' && isUsedUp ? [lane] : []
    })
  }

  /** A claim that is answered may have found us stopped. */
  #isStopped(): boolean {
    return this.#state.name === 'stopped'
  }
}

function nextTick(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve))
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
