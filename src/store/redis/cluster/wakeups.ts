/**
 * Wake-ups of all partitions: one subscription for each master, on the channels of those that live there, because a script
 * publishes on its own master only (SPUBLISH) and counts who heard it there. When partitions move, the subscriptions are
 * made anew, and listeners look at everything again.
 *
 *   partition 1 ─┐                     ┌─ subscription to master A: channels of 1 and 3
 *   partition 2 ─┼─ map of the router ─┤
 *   partition 3 ─┘                     └─ subscription to master B: channels of 2
 */
import type { WakeUp } from '../../contract/store.ts'
import { describeAddress, hostAndPort } from '../address/url.ts'
import { connectTo } from '../link/connection.ts'
import type { LinkOptions } from '../link/link.ts'
import { Subscription } from '../link/subscription.ts'
import type { Hear, WakeSource } from '../link/wakeups.ts'
import type { HostPort } from '../sentinel/sentinels.ts'
import type { ClusterRouter } from './router.ts'

const PING_EVERY_MS = 10_000

export type ClusterWakeupsOptions = Omit<LinkOptions, 'server' | 'connect' | 'prepare' | 'ready' | 'lost'> & {
  readonly router: ClusterRouter
  /** Known when the store is open. */
  readonly isSharded: () => boolean
}

type MasterSubscription = {
  readonly subscription: Subscription
  readonly channels: string
  readonly members: readonly PartitionWakeups[]
}

export class ClusterWakeups {
  readonly #options: ClusterWakeupsOptions
  readonly #partitions = new Set<PartitionWakeups>()
  readonly #byMaster = new Map<string, MasterSubscription>()
  readonly #endChanges: () => void
  #isPlanned = false
  #isClosed = false

  constructor(options: ClusterWakeupsOptions) {
    this.#options = options
    this.#endChanges = options.router.onChange(() => this.plan())
  }

  /** `channels`: asked for when it is subscribed. */
  partition(slot: number, channels: () => readonly string[]): WakeSource {
    const made = new PartitionWakeups(slot, channels, this)
    this.#partitions.add(made)
    return made
  }

  /** Many partitions begin, and many slots move, in one turn. */
  plan(): void {
    if (this.#isPlanned || this.#isClosed) return
    this.#isPlanned = true
    this.#options.clock.soon(() => {
      this.#isPlanned = false
      if (!this.#isClosed) this.#arrange()
    })
  }

  /** Somebody counts on its wake-ups now, or no longer. */
  counted(): void {
    for (const { subscription, members } of this.#byMaster.values())
      subscription.pingEvery(members.some(({ isCountedOn }) => isCountedOn) ? PING_EVERY_MS : Infinity)
  }

  close(): void {
    this.#isClosed = true
    this.#endChanges()
    for (const { subscription } of this.#byMaster.values()) subscription.close()
    this.#byMaster.clear()
  }

  #arrange(): void {
    const { topology } = this.#options.router
    const wanted = new Map<string, { readonly place: HostPort; readonly members: PartitionWakeups[] }>()
    for (const partition of this.#partitions) {
      const place = partition.isListening ? topology.masterOf(partition.slot) : undefined
      if (place === undefined) continue
      const key = hostAndPort(place)
      const group = wanted.get(key)
      if (group === undefined) wanted.set(key, { place, members: [partition] })
      else group.members.push(partition)
    }
    for (const [key, { subscription }] of this.#byMaster) {
      if (wanted.has(key)) continue
      subscription.close()
      this.#byMaster.delete(key)
    }
    for (const [key, { place, members }] of wanted) this.#subscribe(key, place, members)
  }

  #subscribe(key: string, place: HostPort, members: readonly PartitionWakeups[]): void {
    const { router, isSharded, ...shared } = this.#options
    const byChannel = new Map(members.flatMap((one) => one.channels().map((channel) => [channel, one])))
    const channels = [...byChannel.keys()]
    const name = channels.join('\n')
    const known = this.#byMaster.get(key)
    if (known?.channels === name) return
    known?.subscription.close()
    const address = router.topology.addressOf(place)
    const subscription = new Subscription({
      ...shared,
      name: `${shared.name}:wakeups`,
      server: describeAddress(address),
      connect: connectTo(address),
      channels,
      isSharded: isSharded(),
      pingEveryMs: PING_EVERY_MS,
      heard: (message, channel) => byChannel.get(channel)?.hear(message),
      subscribed: () => {
        for (const member of members) member.missed()
      },
      lost: () => void router.topology.refresh(),
    })
    this.#byMaster.set(key, { subscription, channels: name, members })
    subscription.start()
  }
}

class PartitionWakeups implements WakeSource {
  readonly slot: number
  readonly channels: () => readonly string[]
  isCountedOn = true
  readonly #all: ClusterWakeups
  readonly #listeners = new Set<{ readonly call: (wake: WakeUp) => void; readonly hear: Hear }>()
  /** Stays: the next listener of a store comes soon. */
  isListening = false

  constructor(slot: number, channels: () => readonly string[], all: ClusterWakeups) {
    this.slot = slot
    this.channels = channels
    this.#all = all
  }

  look(lookMs: number | undefined, fallbackMs = Infinity): void {
    if (lookMs === undefined || this.isCountedOn === lookMs <= fallbackMs + 1) return
    this.isCountedOn = !this.isCountedOn
    this.#all.counted()
  }

  listen(call: (wake: WakeUp) => void, hear: Hear): () => void {
    const entry = { call, hear }
    this.#listeners.add(entry)
    if (!this.isListening) {
      this.isListening = true
      this.#all.plan()
    }
    return () => void this.#listeners.delete(entry)
  }

  hear(message: string): void {
    for (const { call, hear } of this.#listeners) {
      const wake = hear(message)
      if (wake !== undefined) call(wake)
    }
  }

  /** What was said before the subscription stood went unheard. */
  missed(): void {
    for (const { call } of this.#listeners) call({ kind: 'controls' })
  }
}
