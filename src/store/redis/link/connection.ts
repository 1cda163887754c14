/**
 * One connection to Redis, from the first byte to its loss. A connection that is lost stays lost, and a command whose
 * reply did not come is never sent again: `link` decides what to do then.
 *
 *   opening ──connected, logged in──► open          either ──loss, protocol error, destroy──► ended
 *
 * Commands of one turn of the event loop leave in one write; when there are many bytes, at once, so that the server
 * begins while we still make the next. Replies come in the order of the commands, so that a queue of who waits is all
 * the bookkeeping there is. A reply that does not fit that order condemns the connection: it would no longer be known which
 * reply belongs to whom.
 */
import type { Socket } from 'node:net'
import type { Address } from '../address/url.ts'
import { logIn, type Protocol } from './login.ts'
import { ErrorReply, INCOMPLETE, ProtocolError, Push, ReplyParser } from './parser.ts'
import { endpointOf, openSocket, type Endpoint } from './socket.ts'
import { asciiBytes, encodeCommands } from './writer.ts'

/** A message of a channel. */
export type Heard = (message: string, channel: string) => void

export interface Connection {
  /** Connects and authenticates. */
  open(): Promise<void>
  send(command: readonly string[]): Promise<unknown>
  /** `isSharded`: a channel of the cluster, which only the master of its slot has. It ends when the slot leaves. */
  subscribe(channel: string, heard: Heard, isSharded?: boolean): Promise<void>
  /** Ends it at once, whatever its state; what is under way rejects. */
  destroy(): void
  /** From now on it does not keep the process alive. */
  unref(): void
}

/** `lost` is called at most once, when an opened connection broke by itself. */
export type Connect = (name: string, lost: (error: unknown) => void) => Connection

/** So many bytes do not wait for the end of the turn. */
const WRITE_AT_ONCE_BYTES = 8 * 1024
const MOVED_UP_AT = 1000

export function connectTo(address: Address): Connect {
  return connectBy(endpointOf(address))
}

export function connectBy(endpoint: Endpoint): Connect {
  return (name, lost) => new ServerConnection(endpoint, name, lost)
}

type Unanswered = {
  readonly resolve: (reply: unknown) => void
  readonly reject: (error: unknown) => void
  /** Of SUBSCRIBE, which is answered by a push. */
  readonly channel?: string
}

type ConnectionState =
  | { readonly name: 'opening' }
  | { readonly name: 'open' }
  | { readonly name: 'ended'; readonly reason: Error }

class ServerConnection implements Connection {
  readonly #endpoint: Endpoint
  readonly #name: string
  readonly #lost: (error: unknown) => void
  readonly #parser = new ReplyParser()
  readonly #waiting = new Fifo<Unanswered>()
  #socket: Socket | undefined
  #unwritten: (readonly string[])[] = []
  #unwrittenBytes = 0
  #protocol: Protocol = 3
  /** By channel, who hears it. */
  readonly #subscribed = new Map<string, Heard>()
  #state: ConnectionState = { name: 'opening' }

  constructor(endpoint: Endpoint, name: string, lost: (error: unknown) => void) {
    this.#endpoint = endpoint
    this.#name = name
    this.#lost = lost
  }

  async open(): Promise<void> {
    const [socket, login] = await Promise.all([this.#endpoint.socket(), this.#endpoint.login()])
    this.#assertGoesOn()
    await new Promise<void>((resolve, reject) => {
      // The first in line: a connection that ends before it stands rejects it like any call.
      this.#waiting.push({ resolve: () => resolve(), reject })
      this.#attach(openSocket(socket, () => this.#waiting.shift()?.resolve(undefined)))
    })
    this.#protocol = await logIn((command) => this.send(command), login, this.#name)
    this.#assertGoesOn()
    this.#state = { name: 'open' }
  }

  send(command: readonly string[]): Promise<unknown> {
    return this.#ask(command, {})
  }

  async subscribe(channel: string, heard: Heard, isSharded = false): Promise<void> {
    this.#subscribed.set(channel, heard)
    await this.#ask([isSharded ? 'SSUBSCRIBE' : 'SUBSCRIBE', channel], { channel })
  }

  destroy(): void {
    this.#finish(new Error('the connection was given up'))
  }

  unref(): void {
    this.#socket?.unref()
  }

  #ask(command: readonly string[], kind: Pick<Unanswered, 'channel'>): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#state.name === 'ended') {
        reject(this.#state.reason)
        return
      }
      this.#waiting.push({ ...kind, resolve, reject })
      this.#unwrittenBytes += asciiBytes(command)
      const count = this.#unwritten.push(command)
      if (this.#unwrittenBytes >= WRITE_AT_ONCE_BYTES) this.#write()
      // After everything that this turn still has to say, but before the event loop goes on.
      else if (count === 1) process.nextTick(() => this.#write())
    })
  }

  /** It may have been destroyed while something was awaited. */
  #assertGoesOn(): void {
    if (this.#state.name === 'ended') throw this.#state.reason
  }

  #write(): void {
    const socket = this.#socket
    if (this.#unwritten.length === 0 || socket === undefined) return
    try {
      const buffers = encodeCommands(this.#unwritten, this.#unwrittenBytes)
      this.#unwritten = []
      this.#unwrittenBytes = 0
      socket.cork()
      for (const buffer of buffers) socket.write(buffer)
      socket.uncork()
    } catch (error) {
      // Out of memory for a buffer. Those who wait for what was not written would get the replies of others.
      this.#lose(error as Error)
    }
  }

  #attach(socket: Socket): void {
    this.#socket = socket
    socket.on('data', (chunk: Buffer) => this.#read(chunk))
    socket.on('error', (error) => this.#lose(error))
    socket.on('close', () => this.#lose(new Error('the server closed the connection')))
  }

  #read(chunk: Buffer): void {
    this.#parser.add(chunk)
    while (this.#state.name !== 'ended') {
      const reply = this.#nextReply()
      if (reply === INCOMPLETE) return
      this.#deliver(reply)
    }
  }

  #nextReply(): unknown {
    try {
      return this.#parser.next()
    } catch (error) {
      this.#lose(error as Error)
      return INCOMPLETE
    }
  }

  #deliver(reply: unknown): void {
    if (reply instanceof Push) {
      this.#hear(reply.parts)
      return
    }
    // RESP2 has no pushes. A connection that subscribed gets nothing but messages and answers that look like them.
    const isMessage = this.#protocol === 2 && this.#subscribed.size > 0 && Array.isArray(reply)
    if (isMessage && this.#hear(reply)) return
    const first = this.#waiting.shift()
    if (first === undefined) this.#lose(unasked(reply))
    else if (reply instanceof ErrorReply) first.reject(reply)
    else if (first.channel === undefined) first.resolve(reply)
    else this.#refuse(first, 'a reply to SUBSCRIBE that is no push')
  }

  /** Returns whether the parts are what a subscription brings; whatever else a server may push is passed over. */
  #hear([kind, channel, message]: readonly unknown[]): boolean {
    if (typeof channel !== 'string') return false
    const heard = this.#subscribed.get(channel)
    if (heard === undefined) return false
    if (kind === 'message' || kind === 'smessage') {
      heard(String(message), channel)
      return true
    }
    // We never unsubscribe: the slot of this channel has left the server.
    if (kind === 'sunsubscribe') {
      this.#lose(new Error('the server has no longer the slot of this channel'))
      return true
    }
    if (kind !== 'subscribe' && kind !== 'ssubscribe') return false
    const first = this.#waiting.shift()
    if (first?.channel === channel) first.resolve(undefined)
    else this.#refuse(first, 'a subscription was confirmed out of turn')
    return true
  }

  #refuse(first: Unanswered | undefined, what: string): void {
    const error = new ProtocolError(what)
    first?.reject(error)
    this.#lose(error)
  }

  /** It broke by itself: its owner hears of that, unless it is still waited for in `open`. */
  #lose(error: Error): void {
    const wasOpen = this.#state.name === 'open'
    this.#finish(error)
    if (wasOpen) this.#lost(error)
  }

  #finish(reason: Error): void {
    if (this.#state.name === 'ended') return
    this.#state = { name: 'ended', reason }
    this.#unwritten = []
    this.#socket?.destroy()
    for (let one = this.#waiting.shift(); one !== undefined; one = this.#waiting.shift()) one.reject(reason)
  }
}

/** An error that no command caused is the server's reason for hanging up. */
function unasked(reply: unknown): Error {
  return reply instanceof ErrorReply
    ? new Error(`the server ended the connection: ${reply.message}`)
    : new ProtocolError('a reply to no command')
}

/** First in, first out. Those behind are moved up now and then, not each time. */
class Fifo<T> {
  #entries: (T | undefined)[] = []
  #head = 0

  push(entry: T): void {
    this.#entries.push(entry)
  }

  shift(): T | undefined {
    const entry = this.#entries[this.#head]
    if (entry === undefined) return undefined
    this.#entries[this.#head] = undefined
    this.#head += 1
    if (this.#head >= MOVED_UP_AT || this.#head === this.#entries.length) {
      this.#entries = this.#entries.slice(this.#head)
      this.#head = 0
    }
    return entry
  }
}
