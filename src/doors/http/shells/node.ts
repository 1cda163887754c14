/**
 * The shell for `node:http`, Express, Connect and Fastify's middleware: from their request to ours, and the answer back.
 *
 * Trap: behind a body parser the stream has been read already. Then what the parser made of it is taken, written as JSON
 * again.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { decodeText } from '../../../core/encoding/utf8.ts'
import { HttpRefusal } from '../wire/problem.ts'
import type { HttpRequest } from '../wire/request.ts'
import type { HttpReply, ReplyStream } from '../table/route.ts'
import { isHostClosing, type HostClosing } from './host-closing.ts'

/** Calls `respond` exactly once, perhaps before it returns. */
export type Answerer = (request: HttpRequest, respond: (reply: HttpReply) => void) => void

export type NodeListener = (request: IncomingMessage, response: ServerResponse) => void

/** A listener that takes more than this unread is gone, or as good as. */
const UNREAD_BYTES_MAX = 256 * 1024

export function nodeListener(answer: Answerer, now: () => number, closing: HostClosing): NodeListener {
  return (request, response) =>
    answer(new NodeRequest(request, response, closing), (reply) =>
      send({ request, response, closing }, reply, now()),
    )
}

class NodeRequest implements HttpRequest {
  readonly method: string
  readonly path: string
  readonly search: string
  readonly address: string
  readonly original: unknown
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #closing: HostClosing

  constructor(request: IncomingMessage, response: ServerResponse, closing: HostClosing) {
    const { url = '/' } = request
    const mark = url.indexOf('?')
    this.method = request.method ?? 'GET'
    this.path = mark === -1 ? url : url.slice(0, mark)
    this.search = mark === -1 ? '' : url.slice(mark + 1)
    this.address = request.socket.remoteAddress ?? ''
    this.original = request
    this.#request = request
    this.#response = response
    this.#closing = closing
  }

  header(name: string): string | undefined {
    const value = this.#request.headers[name]
    return Array.isArray(value) ? value.join(', ') : value
  }

  readBody(bytesMax: number): Promise<string> {
    const request = this.#request
    if (request.readableDidRead || request.readableEnded)
      return Promise.resolve(alreadyRead(request, bytesMax))
    if (Number(request.headers['content-length'] ?? 0) > bytesMax) return Promise.reject(tooLarge(bytesMax))
    return readStream(request, bytesMax).then((body) => decodeText(body, 'the body'))
  }

  chunks(): AsyncIterable<Uint8Array> {
    const request = this.#request
    return request.readableDidRead || request.readableEnded ? parsedChunks(request) : request
  }

  whenGone(tell: () => void): void {
    const response = this.#response
    if (response.destroyed) return tell()
    const leave = this.#closing.watch(this.#request, tell)
    response.once('close', () => {
      leave()
      if (!response.writableFinished) tell()
    })
  }
}

const EMPTY = Buffer.alloc(0)

function readStream(request: IncomingMessage, bytesMax: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    // Most bodies come in one piece.
    let body: Buffer | Buffer[] | undefined
    let bytes = 0
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > bytesMax) {
        request.pause()
        reject(tooLarge(bytesMax))
      } else if (body === undefined) body = chunk
      else if (Array.isArray(body)) body.push(chunk)
      else body = [body, chunk]
    })
    request.on('end', () => {
      const whole = Array.isArray(body) ? Buffer.concat(body) : body
      resolve(whole ?? EMPTY)
    })
    // Without a listener for "error" a request that breaks off only closes.
    request.on('close', () => {
      if (!request.readableEnded) reject(new HttpRefusal('BODY_INVALID', 'the body ended half-way.'))
    })
  })
}

function alreadyRead(request: IncomingMessage, bytesMax: number): string {
  const parsed: unknown = 'body' in request ? request.body : undefined
  if (parsed === undefined) return ''
  const text = typeof parsed === 'string' ? parsed : JSON.stringify(parsed)
  if (Buffer.byteLength(text) > bytesMax) throw tooLarge(bytesMax)
  return text
}

async function* parsedChunks(request: IncomingMessage): AsyncGenerator<Uint8Array> {
  yield Buffer.from(alreadyRead(request, Infinity))
}

function tooLarge(bytesMax: number): HttpRefusal {
  return new HttpRefusal('BODY_TOO_LARGE', `the body has more than ${bytesMax} bytes.`, {
    connection: 'close',
  })
}

type Exchange = {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly closing: HostClosing
}

function send(exchange: Exchange, reply: HttpReply, now: number): void {
  const { request, response } = exchange
  const { status, onSent } = reply
  if (onSent !== undefined) tellWhenSent(response, onSent)
  if (response.destroyed) return
  const body =
    reply.bytes ?? reply.text ?? (reply.json === undefined ? undefined : JSON.stringify(reply.json))
  if (isHostClosing(request)) response.shouldKeepAlive = false
  response.writeHead(status, headersOf(reply, body, now))
  if (reply.stream !== undefined && request.method !== 'HEAD') return reply.stream(nodeStream(exchange))
  response.end(request.method === 'HEAD' ? undefined : body)
}

/** Names and values in turn: Node writes such a list as it is, and makes no object of it. */
function headersOf(
  { status, headers, stream }: HttpReply,
  body: string | Uint8Array | undefined,
  now: number,
): string[] {
  const list = ['x-content-type-options', 'nosniff', 'punctual-now', String(Math.floor(now))]
  if (body !== undefined && headers?.['content-type'] === undefined)
    list.push('content-type', 'application/json')
  if (stream === undefined && status !== 204 && status !== 304)
    list.push('content-length', String(body === undefined ? 0 : Buffer.byteLength(body)))
  for (const name in headers) if (name !== 'content-length') list.push(name, headers[name] ?? '')
  return list
}

function tellWhenSent(response: ServerResponse, onSent: (isSent: boolean) => void): void {
  if (response.destroyed) return onSent(false)
  response.once('close', () => onSent(response.writableFinished))
}

function nodeStream({ request, response, closing }: Exchange): ReplyStream {
  const controller = new AbortController()
  const leave = closing.watch(request, () => controller.abort())
  response.once('close', () => {
    leave()
    controller.abort()
  })
  response.flushHeaders()
  return {
    write: (text) => {
      if (response.destroyed) return false
      response.write(text)
      return response.writableLength < UNREAD_BYTES_MAX
    },
    end: () => {
      // Its headers have promised the client that the connection stays.
      const { socket } = request
      response.end(() => {
        if (request.httpVersionMajor === 1 && isHostClosing(request)) socket.end()
      })
    },
    closed: controller.signal,
  }
}
