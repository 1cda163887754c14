/**
 * The shell for `node:http`, Express, Connect and Fastify's middleware: from their request to ours, and the answer back.
 *
 * Trap: behind a body parser the stream has been read already. Then what the parser made of it is taken, written as JSON
 * again.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { HttpRefusal } from '../wire/problem.ts'
import type { HttpRequest } from '../wire/request.ts'
import type { HttpReply, ReplyStream } from '../table/route.ts'

export type NodeListener = (request: IncomingMessage, response: ServerResponse) => void

/** A listener that takes more than this unread is gone, or as good as. */
const UNREAD_BYTES_MAX = 256 * 1024

export function nodeListener(
  answer: (request: HttpRequest) => Promise<HttpReply>,
  now: () => number,
): NodeListener {
  return (request, response) => {
    void answer(new NodeRequest(request, response)).then((reply) => send(request, response, reply, now()))
  }
}

class NodeRequest implements HttpRequest {
  readonly method: string
  readonly path: string
  readonly search: string
  readonly original: unknown
  readonly #request: IncomingMessage
  readonly #response: ServerResponse

  constructor(request: IncomingMessage, response: ServerResponse) {
    const { url = '/' } = request
    const mark = url.indexOf('?')
    this.method = request.method ?? 'GET'
    this.path = mark === -1 ? url : url.slice(0, mark)
    this.search = mark === -1 ? '' : url.slice(mark + 1)
    this.original = request
    this.#request = request
    this.#response = response
  }

  readonly header = (name: string): string | undefined => {
    const value = this.#request.headers[name]
    return Array.isArray(value) ? value.join(', ') : value
  }

  readonly readBody = (bytesMax: number): Promise<string> => {
    const request = this.#request
    if (request.readableDidRead || request.readableEnded)
      return Promise.resolve(alreadyRead(request, bytesMax))
    if (Number(request.headers['content-length'] ?? 0) > bytesMax) return Promise.reject(tooLarge(bytesMax))
    return readStream(request, bytesMax)
  }

  readonly chunks = (): AsyncIterable<Uint8Array> => {
    const request = this.#request
    return request.readableDidRead || request.readableEnded ? parsedChunks(request) : request
  }

  readonly gone = (): AbortSignal => {
    const controller = new AbortController()
    const response = this.#response
    if (response.destroyed) controller.abort()
    else
      response.once('close', () => {
        if (!response.writableFinished) controller.abort()
      })
    return controller.signal
  }
}

function readStream(request: IncomingMessage, bytesMax: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > bytesMax) {
        request.pause()
        reject(tooLarge(bytesMax))
      } else chunks.push(chunk)
    })
    request.once('end', () => resolve(textOf(chunks)))
    request.once('error', reject)
    request.once('close', () => {
      if (!request.readableEnded) reject(new HttpRefusal('BODY_INVALID', 'the body ended half-way.'))
    })
  })
}

function textOf(chunks: readonly Buffer[]): string {
  const [first] = chunks
  if (first === undefined) return ''
  return (chunks.length === 1 ? first : Buffer.concat(chunks)).toString('utf8')
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

export const SAFE_HEADERS = { 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' } as const

function send(request: IncomingMessage, response: ServerResponse, reply: HttpReply, now: number): void {
  const { status, headers, onSent } = reply
  if (onSent !== undefined) tellWhenSent(response, onSent)
  if (response.destroyed) return
  const body =
    reply.bytes ?? reply.text ?? (reply.json === undefined ? undefined : JSON.stringify(reply.json))
  const length = body === undefined ? 0 : Buffer.byteLength(body)
  response.writeHead(status, {
    ...SAFE_HEADERS,
    'punctual-now': Math.floor(now),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(reply.stream === undefined && status !== 204 && status !== 304 ? { 'content-length': length } : {}),
    ...headers,
  })
  if (reply.stream !== undefined && request.method !== 'HEAD') return reply.stream(nodeStream(response))
  response.end(request.method === 'HEAD' ? undefined : body)
}

function tellWhenSent(response: ServerResponse, onSent: (isSent: boolean) => void): void {
  if (response.destroyed) return onSent(false)
  response.once('close', () => onSent(response.writableFinished))
}

function nodeStream(response: ServerResponse): ReplyStream {
  const controller = new AbortController()
  response.once('close', () => controller.abort())
  response.flushHeaders()
  return {
    write: (text) => {
      if (response.destroyed) return false
      response.write(text)
      return response.writableLength < UNREAD_BYTES_MAX
    },
    end: () => void response.end(),
    closed: controller.signal,
  }
}
