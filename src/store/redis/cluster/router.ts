/**
 * Brings each call to the master that has its slot, and follows the cluster when that changes.
 *
 *   call ──► master known and connected? ──yes──► sent, once ──► reply
 *                 │ no: ask around, wait                │
 *                 └──────────◄── MOVED, ASK, TRYAGAIN, CLUSTERDOWN, LOADING: said before anything was done
 *
 * All of it within `callTimeout`. A call is sent again only after an answer that says that it was not done: when its
 * connection breaks, or it gets no answer in time, it fails, and whether it took effect is unknown.
 *
 * A master that gives no answer for a second is asked about elsewhere. When the others have replaced it, its connections are
 * ended, and what waits on them fails at once instead of after `callTimeout`.
 */
import type { Clock, Timer } from '../../../clock.ts'
import { UnavailableError, type PunctualError } from '../../../core/errors.ts'
import { hostAndPort } from '../address/url.ts'
import { CALLS_MAX, type LinkOptions } from '../link/link.ts'
import type { Fence } from '../replicated/confirmed-calls.ts'
import type { Durability } from '../replicated/durability.ts'
import type { HostPort } from '../sentinel/sentinels.ts'
import { ClusterNode, type NodeLine } from './node.ts'
import { redirectionIn } from './redirection.ts'
import { Topology, isSame, type ClusterAddress } from './topology.ts'

/** Between two tries of a call that was told to wait. */
const PAUSE_MS = 50
/** How often the cluster is asked while a call waits for a master. */
const LOOK_MS = 250
const SILENT_MS = 1000
/** So many nodes may send a call on to another one before it waits. */
const MOVES_MAX = 3

export type RouterOptions = Omit<LinkOptions, 'server' | 'connect' | 'prepare' | 'ready' | 'lost'> & {
  readonly address: ClusterAddress
  /** As messages name it. */
  readonly server: string
  readonly durability: Durability
  readonly partitions: number
}

/** Who reads the map too. */
export type RouterListener = () => void

export type RoutedCall = {
  readonly slot: number
  readonly line: NodeLine
  readonly command: readonly string[]
  /** See `ClusterNode.call`. */
  readonly fence: Fence
}

export class ClusterRouter {
  readonly topology: Topology
  readonly #options: RouterOptions
  readonly #clock: Clock
  readonly #nodes = new Map<string, ClusterNode>()
  readonly #listeners = new Set<RouterListener>()
  /** Calls that wait for a master, or for a slot that moves. */
  readonly #waiting = new Set<() => void>()
  #watch: Timer | undefined
  #isClosed = false

  constructor(options: RouterOptions) {
    this.#options = options
    this.#clock = options.clock
    this.topology = new Topology(options, () => this.#redraw())
  }

  /** Called when masters may have changed. Returns the function that ends it. */
  onChange(listener: RouterListener): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  async call(call: RoutedCall): Promise<unknown> {
    const giveUpAt = this.#clock.monotonic() + this.#options.callTimeoutMs
    let asking: HostPort | undefined
    let moves = 0
    for (;;) {
      const node = await this.#nodeFor(call, asking, giveUpAt)
      try {
        return await this.#send(node, call, asking !== undefined, giveUpAt - this.#clock.monotonic())
      } catch (error) {
        const told = redirectionIn(error, node.place)
        if (told === undefined || this.#clock.monotonic() + PAUSE_MS >= giveUpAt) throw error
        asking = told.kind === 'ask' && call.line === 'calls' ? told.place : undefined
        if (told.kind === 'moved') this.topology.note(call.slot, told.place)
        if (told.kind === 'moved' || told.kind === 'wait') void this.topology.refresh()
        if (told.kind === 'moved') moves += 1
        // A node that moved a slot away knows where, unless they send us to and fro; all else takes its time.
        const isSent = asking !== undefined || (told.kind === 'moved' && moves <= MOVES_MAX)
        if (!isSent) await this.#pause(PAUSE_MS)
      }
    }
  }

  /** The masters, connected where that can be: for the doctor. */
  masters(): readonly ClusterNode[] {
    return this.topology.masters().map((place) => this.#node(place))
  }

  close(): void {
    this.#isClosed = true
    this.topology.close()
    this.#watch?.cancel()
    for (const node of this.#nodes.values()) node.close()
    this.#nodes.clear()
    this.#wakeWaiting()
  }

  #send(node: ClusterNode, call: RoutedCall, isAsking: boolean, timeoutMs: number): Promise<unknown> {
    this.#watchSilence()
    if (isAsking) return node.callAsking(call.command, timeoutMs)
    return node.call(call.line, call.command, timeoutMs, call.fence)
  }

  /** The node to send to, once it is connected. */
  async #nodeFor(
    { slot, line }: RoutedCall,
    asking: HostPort | undefined,
    giveUpAt: number,
  ): Promise<ClusterNode> {
    for (;;) {
      if (this.#isClosed) throw this.closedError()
      const place = asking ?? this.topology.masterOf(slot)
      const node = place === undefined ? undefined : this.#node(place)
      const standing = node?.standing(line) ?? 'away'
      if (node !== undefined && standing === 'ready') return node
      const leftMs = giveUpAt - this.#clock.monotonic()
      if (leftMs <= 0) throw this.#inVain(slot, node)
      if (standing === 'away') void this.topology.refresh()
      await this.#pause(Math.min(leftMs, LOOK_MS))
    }
  }

  /** Ends early when something has changed. */
  async #pause(ms: number): Promise<void> {
    if (this.#waiting.size >= CALLS_MAX) throw this.#unavailable(`${CALLS_MAX} calls wait already`)
    await new Promise<void>((resolve) => {
      const go = (): void => {
        timer.cancel()
        this.#waiting.delete(go)
        resolve()
      }
      const timer = this.#clock.schedule(ms, go)
      this.#waiting.add(go)
    })
  }

  #wakeWaiting(): void {
    for (const go of this.#waiting) go()
  }

  #node(place: HostPort): ClusterNode {
    const key = hostAndPort(place)
    const known = this.#nodes.get(key)
    if (known !== undefined) return known
    const node = new ClusterNode(this.topology.addressOf(place), {
      ...this.#options,
      changed: () => this.#wakeWaiting(),
      lost: () => void this.topology.refresh(),
    })
    this.#nodes.set(key, node)
    return node
  }

  #redraw(): void {
    this.#leaveDeposed()
    this.#wakeWaiting()
    for (const listener of this.#listeners) listener()
  }

  /** Nodes that are no master any more. One that still answers is left: the map may be old, and the node says itself if it is not. */
  #leaveDeposed(): void {
    const masters = this.topology.masters()
    const silentBefore = this.#clock.monotonic() - SILENT_MS
    for (const [key, node] of this.#nodes) {
      if (masters.some((place) => isSame(place, node.place))) continue
      if (node.silentSince !== Infinity && node.silentSince > silentBefore) continue
      node.close(`${node.name} is no master of the cluster any more`)
      this.#nodes.delete(key)
    }
  }

  /** While calls are under way: asks around when one of the masters is silent. */
  #watchSilence(): void {
    if (this.#watch !== undefined) return
    this.#watch = this.#clock.schedule(SILENT_MS, () => {
      this.#watch = undefined
      this.#leaveDeposed()
      const oldest = Math.min(...[...this.#nodes.values()].map(({ silentSince }) => silentSince))
      if (oldest === Infinity) return
      if (oldest <= this.#clock.monotonic() - SILENT_MS) void this.topology.refresh()
      this.#watchSilence()
    })
    this.#watch.unref?.() // Calls keep the process alive by their deadlines.
  }

  #inVain(slot: number, node: ClusterNode | undefined): PunctualError {
    const before = this.topology.lastError
    const what =
      node === undefined
        ? `no master is known for slot ${slot}`
        : `the master of slot ${slot}, ${node.name}, is not connected`
    const reason = before === undefined ? '' : ` Before that: ${before.message}`
    return this.#unavailable(`${what} after ${this.#options.callTimeoutMs} ms`, reason)
  }

  #unavailable(what: string, reason = ''): UnavailableError {
    return new UnavailableError('STORE_UNAVAILABLE', `${this.#options.server}: ${what}.${reason}`)
  }

  closedError(): UnavailableError {
    const text = `the store on ${this.#options.server} is closed; open a new queue.`
    return new UnavailableError('STORE_CLOSED', text)
  }
}
