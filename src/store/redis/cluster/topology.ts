/**
 * Which master has which slot, as the nodes of the cluster tell it (CLUSTER SLOTS).
 *
 * Each question has a connection of its own, which ends with the answer or after a while: a node that stands still must not
 * keep us from the next one, nor cost the calls on its other connections anything. Each round begins with another node: one
 * that is cut off from the others goes on telling an old story, and must not be the only one that we hear.
 *
 * One round at a time, and rounds have a pause between them, however many ask. What a node says with MOVED counts at once,
 * for its slot, until the next round.
 */
import type { Clock } from '../../../clock.ts'
import { UnavailableError, type PunctualError } from '../../../core/errors.ts'
import { hostAndPort, type Address } from '../address/url.ts'
import { connectTo } from '../link/connection.ts'
import { startDeadline } from '../../link/deadline.ts'
import { ProtocolError } from '../link/parser.ts'
import { toPunctualError } from '../link/refusals.ts'
import type { HostPort } from '../sentinel/sentinels.ts'

const CLIENT_NAME = 'punctual:topology'
/** How long one node may take to answer. */
const PATIENCE_MS = 1000
/** No more than this of the time of a call, so that a call that waits for the answer can hear other nodes, too. */
const PATIENCE_SHARE = 0.25
const APART_MS = 100

export type ClusterAddress = {
  /** Nodes to ask first. */
  readonly seeds: readonly HostPort[]
  /** Everything about a node but where it is. */
  readonly node: Omit<Address, 'host' | 'port'>
}

export type TopologyOptions = {
  readonly address: ClusterAddress
  readonly clock: Clock
  readonly callTimeoutMs: number
}

export type SlotRange = {
  readonly from: number
  readonly until: number
  readonly master: HostPort
  readonly replicas: readonly HostPort[]
}

export class Topology {
  readonly #address: ClusterAddress
  readonly #clock: Clock
  readonly #patienceMs: number
  readonly #changed: () => void
  #ranges: readonly SlotRange[] = []
  /** By slot: told by a node since the last round. */
  readonly #moved = new Map<number, HostPort>()
  #round: Promise<void> | undefined
  #rounds = 0
  #lastError: PunctualError | undefined
  #isClosed = false

  constructor({ address, clock, callTimeoutMs }: TopologyOptions, changed: () => void) {
    this.#address = address
    this.#clock = clock
    this.#patienceMs = Math.min(PATIENCE_MS, callTimeoutMs * PATIENCE_SHARE)
    this.#changed = changed
  }

  get ranges(): readonly SlotRange[] {
    return this.#ranges
  }

  /** Why the last round brought nothing; undefined when it brought something. */
  get lastError(): PunctualError | undefined {
    return this.#lastError
  }

  addressOf(place: HostPort): Address {
    return { ...this.#address.node, ...place }
  }

  masterOf(slot: number): HostPort | undefined {
    return this.#moved.get(slot) ?? rangeOf(this.#ranges, slot)?.master
  }

  /** Every master that has a slot. */
  masters(): readonly HostPort[] {
    const found = new Map<string, HostPort>()
    for (const place of [...this.#ranges.map(({ master }) => master), ...this.#moved.values()])
      found.set(hostAndPort(place), place)
    return [...found.values()]
  }

  /** A node says that another one has this slot. */
  note(slot: number, place: HostPort): void {
    const known = this.masterOf(slot)
    if (known !== undefined && isSame(known, place)) return
    this.#moved.set(slot, place)
    this.#changed()
  }

  /** Asks around; who asks meanwhile shares the round. Never rejects. */
  refresh(): Promise<void> {
    if (this.#isClosed) return Promise.resolve()
    this.#round ??= this.#ask().finally(() => {
      this.#clock.schedule(APART_MS, () => {
        this.#round = undefined
      })
    })
    return this.#round
  }

  close(): void {
    this.#isClosed = true
  }

  async #ask(): Promise<void> {
    const places = this.#places()
    const first = this.#rounds % places.length
    this.#rounds += 1
    for (const place of [...places.slice(first), ...places.slice(0, first)]) {
      if (this.#isClosed) return
      try {
        const ranges = await this.#askOne(place)
        this.#lastError = undefined
        this.#ranges = ranges
        this.#moved.clear()
        this.#changed()
        return
      } catch (error) {
        this.#lastError = toPunctualError(error, hostAndPort(place))
      }
    }
  }

  #places(): readonly HostPort[] {
    const all = [
      ...this.#address.seeds,
      ...this.#ranges.flatMap(({ master, replicas }) => [master, ...replicas]),
    ]
    return [...new Map(all.map((place) => [hostAndPort(place), place])).values()]
  }

  async #askOne(place: HostPort): Promise<SlotRange[]> {
    const connection = connectTo(this.addressOf(place))(CLIENT_NAME, () => undefined)
    let isLate = false
    const deadline = startDeadline(this.#clock, this.#patienceMs, () => {
      isLate = true
      connection.destroy()
    })
    try {
      await connection.open()
      const ranges = readRanges(await connection.send(['CLUSTER', 'SLOTS']), place)
      // A node that has just joined, or that lost the others, knows of no slots.
      if (ranges.length > 0) return ranges
      throw new UnavailableError('STORE_UNAVAILABLE', `${hostAndPort(place)} knows of no slots.`)
    } catch (error) {
      if (!isLate) throw error
      const text = `${hostAndPort(place)}: no answer within ${this.#patienceMs} ms.`
      throw new UnavailableError('STORE_UNAVAILABLE', text, { cause: error })
    } finally {
      deadline.cancel()
      connection.destroy()
    }
  }
}

export function isSame(a: HostPort, b: HostPort): boolean {
  return a.host === b.host && a.port === b.port
}

function rangeOf(ranges: readonly SlotRange[], slot: number): SlotRange | undefined {
  return ranges.find(({ from, until }) => from <= slot && slot <= until)
}

/** `[[from, until, [host, port, ...], [host, port, ...]...]...]`: the master first, then its replicas. */
export function readRanges(reply: unknown, asked: HostPort): SlotRange[] {
  if (!Array.isArray(reply)) throw new ProtocolError('an answer to CLUSTER SLOTS that is not one')
  return (reply as unknown[]).map((row) => {
    const [from, until, ...nodes] = Array.isArray(row) ? (row as unknown[]) : []
    const [master, ...replicas] = nodes.map((node) => placeOf(node, asked))
    if (typeof from !== 'number' || typeof until !== 'number' || master === undefined)
      throw new ProtocolError('an answer to CLUSTER SLOTS that is not one')
    return { from, until, master, replicas }
  })
}

/** A node that does not know its own address, or is told to hide it, means: the one that you asked. */
function placeOf(node: unknown, asked: HostPort): HostPort {
  const [host, port] = Array.isArray(node) ? (node as unknown[]) : []
  const isKnown = typeof host === 'string' && host !== '' && host !== '?'
  return { host: isKnown ? host : asked.host, port: Number(port) }
}
