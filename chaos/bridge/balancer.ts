/** What stands before a cluster everywhere: new connections go to a node that takes them. */
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'

export class Balancer {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  private constructor(server: Server) {
    this.#server = server
  }

  static async over(ports: readonly number[]): Promise<Balancer> {
    const server = createServer()
    const balancer = new Balancer(server)
    let turn = 0
    const route = (outer: Socket, tries: number): void => {
      const port = ports[(turn += 1) % ports.length]
      if (port === undefined || tries === 0) return void outer.destroy()
      const inner = connect(port, '127.0.0.1')
      inner.once('error', () => route(outer, tries - 1))
      inner.once('connect', () => {
        inner.removeAllListeners('error')
        for (const [from, to] of [
          [outer, inner],
          [inner, outer],
        ] as const) {
          from.on('error', () => undefined)
          from.on('close', () => to.destroy())
          from.pipe(to)
          balancer.#sockets.add(from)
        }
      })
    }
    server.on('connection', (outer) => route(outer, ports.length))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return balancer
  }

  get url(): string {
    return `amqp://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }
}
