/**
 * A TCP proxy before one server of a replication group, to trouble some of its visitors and not the others: what its
 * replicas say and hear can be held back, as a slow network does, and sentinels can be kept out, as a split network
 * does. It tells visitors apart by their first words.
 */
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'

export type Visitor = 'replica' | 'sentinel' | 'client'

type Pair = {
  readonly outer: Socket
  readonly inner: Socket
  readonly held: Held[]
  visitor: Visitor
  /** A replica says at which port it is known. */
  port: number | undefined
}
type Held = { readonly to: Socket; readonly bytes: Buffer }

export class ReplicationProxy {
  /** The port of the server behind it. */
  target = 0
  readonly #server: Server
  readonly #pairs = new Set<Pair>()
  readonly #holding = new Set<Visitor>()
  readonly #holdingPorts = new Set<number>()

  private constructor(server: Server) {
    this.#server = server
  }

  static async open(): Promise<ReplicationProxy> {
    const server = createServer()
    const proxy = new ReplicationProxy(server)
    server.on('connection', (outer) => proxy.#join(outer))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return proxy
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** From now on nothing of these visitors passes, in either direction. Lost for good if the server dies meanwhile. */
  hold(...visitors: readonly Visitor[]): void {
    for (const visitor of visitors) this.#holding.add(visitor)
  }

  /** The same for the one replica that is known at this port. */
  holdReplica(port: number): void {
    this.#holdingPorts.add(port)
  }

  /** What was held goes on its way. */
  release(): void {
    this.#holding.clear()
    this.#holdingPorts.clear()
    for (const pair of this.#pairs) {
      for (const { to, bytes } of pair.held.splice(0)) to.write(bytes)
    }
  }

  async close(): Promise<void> {
    for (const { outer, inner } of this.#pairs) {
      outer.destroy()
      inner.destroy()
    }
    this.#server.close()
    await once(this.#server, 'close')
  }

  #join(outer: Socket): void {
    const inner = connect(this.target, '127.0.0.1')
    const pair: Pair = { outer, inner, visitor: 'client', port: undefined, held: [] }
    this.#pairs.add(pair)
    outer.once('data', (bytes) => (pair.visitor = visitorOf(bytes)))
    outer.on('data', (bytes) => {
      if (pair.visitor === 'replica' && pair.port === undefined) pair.port = portIn(bytes)
    })
    this.#pass(pair, outer, inner)
    this.#pass(pair, inner, outer)
  }

  #isHeld({ visitor, port }: Pair): boolean {
    return this.#holding.has(visitor) || (port !== undefined && this.#holdingPorts.has(port))
  }

  #pass(pair: Pair, from: Socket, to: Socket): void {
    from.setNoDelay(true)
    from.on('data', (bytes) => {
      if (this.#isHeld(pair)) pair.held.push({ to, bytes })
      else to.write(bytes)
    })
    from.on('error', () => undefined)
    from.on('close', () => {
      this.#pairs.delete(pair)
      to.destroy()
    })
  }
}

/** A replica begins with PING alone, a sentinel with its name, punctual with HELLO. */
function visitorOf(bytes: Buffer): Visitor {
  const text = bytes.toString('latin1')
  if (/sentinel-/.test(text)) return 'sentinel'
  return /^\*1\r\n\$4\r\nPING\r\n$|REPLCONF|PSYNC/i.test(text) ? 'replica' : 'client'
}

function portIn(bytes: Buffer): number | undefined {
  const port = /listening-port\r\n\$\d+\r\n(\d+)/.exec(bytes.toString('latin1'))?.[1]
  return port === undefined ? undefined : Number(port)
}
