/**
 * A TCP proxy that the tests own, to break connections as networks do: cut them, or leave them half-open, where both
 * ends think that the other is merely silent.
 */
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'

type Pair = { readonly outer: Socket; readonly inner: Socket }

export class Proxy {
  readonly #server: Server
  readonly #pairs = new Set<Pair>()
  /** Ends of silent pairs whose other end is gone: nobody has told them. */
  readonly #orphans = new Set<Socket>()
  #isSilent = false
  /** How many connections were ever made through it. */
  accepted = 0

  private constructor(server: Server) {
    this.#server = server
  }

  static async before(port: number): Promise<Proxy> {
    const server = createServer()
    const proxy = new Proxy(server)
    server.on('connection', (outer) => proxy.#join(outer, port))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return proxy
  }

  get url(): string {
    return `redis://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Ends every connection, as a crashed middlebox does. */
  cut(): void {
    for (const { outer, inner } of this.#pairs) {
      outer.resetAndDestroy()
      inner.destroy()
    }
  }

  /** From now on nothing passes, in either direction, and nobody is told. */
  fallSilent(): void {
    this.#isSilent = true
  }

  /** New connections work again; those that went silent stay so, until one of their ends gives up. */
  speakAgain(): void {
    this.#isSilent = false
    this.#endOrphans()
  }

  async close(): Promise<void> {
    this.cut()
    this.#endOrphans()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #endOrphans(): void {
    for (const socket of this.#orphans) socket.destroy()
    this.#orphans.clear()
  }

  #join(outer: Socket, port: number): void {
    this.accepted += 1
    const inner = connect(port, '127.0.0.1')
    // Else the second of two small packets waits some 40 ms for the first to be acknowledged.
    inner.setNoDelay()
    outer.setNoDelay()
    const pair = { outer, inner }
    let isSilent = false
    this.#pairs.add(pair)
    const pass = (from: Socket, to: Socket): void => {
      from.on('data', (data) => {
        isSilent ||= this.#isSilent
        if (!isSilent) to.write(data)
      })
      from.on('error', () => undefined)
      from.on('close', () => {
        this.#pairs.delete(pair)
        this.#orphans.delete(from)
        if (!isSilent || !this.#isSilent) to.destroy()
        else if (!to.destroyed) this.#orphans.add(to)
      })
    }
    pass(outer, inner)
    pass(inner, outer)
  }
}
