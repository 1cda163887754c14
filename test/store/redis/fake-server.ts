/** A server that answers as a test tells it: for what no real Redis says, or not when it is asked to. */
import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { INCOMPLETE, ReplyParser } from '../../../src/store/redis/link/parser.ts'

/** Returns what is sent back, as bytes on the wire; undefined: nothing. */
export type Answer = (command: readonly string[], socket: Socket) => string | undefined

export const HELLO = '%1\r\n+proto\r\n:3\r\n'

export class FakeServer {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  /** What arrived together, in bytes of the wire. */
  readonly chunks: string[] = []
  readonly commands: (readonly string[])[] = []
  /** How many connections were ever made. */
  accepted = 0

  private constructor(server: Server) {
    this.#server = server
  }

  static async start(answer: Answer, server: Server = createServer()): Promise<FakeServer> {
    const fake = new FakeServer(server)
    const event = 'setSecureContext' in server ? 'secureConnection' : 'connection'
    server.on(event, (socket: Socket) => fake.#serve(socket, answer))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return fake
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #serve(socket: Socket, answer: Answer): void {
    this.accepted += 1
    this.#sockets.add(socket)
    const parser = new ReplyParser()
    socket.on('error', () => undefined)
    socket.on('close', () => this.#sockets.delete(socket))
    socket.on('data', (chunk) => {
      this.chunks.push(chunk.toString())
      parser.add(chunk)
      for (let one = parser.next(); one !== INCOMPLETE; one = parser.next()) {
        const command = one as readonly string[]
        this.commands.push(command)
        const reply = answer(command, socket)
        if (reply !== undefined) socket.write(reply)
      }
    })
  }
}
