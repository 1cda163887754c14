/** The shell for hosts that speak `Request -> Response`: Hono, Next, Bun, Deno. */
import { decodeText } from '../../../core/encoding/utf8.ts'
import { HttpRefusal } from '../wire/problem.ts'
import type { HttpRequest } from '../wire/request.ts'
import type { HttpReply } from '../table/route.ts'
import type { Answerer } from './node.ts'

export type FetchHandler = (request: Request) => Promise<Response>

/** Texts that the client has not read yet; more than this, and it is as good as gone. */
const UNREAD_TEXTS_MAX = 1_000

export function fetchHandler(answer: Answerer, now: () => number): FetchHandler {
  return async (request) => {
    const reply = await new Promise<HttpReply>((resolve) => {
      answer(fromFetch(request), resolve)
    })
    return responseOf(reply, request, now())
  }
}

function fromFetch(request: Request): HttpRequest {
  const url = new URL(request.url)
  return {
    method: request.method,
    path: url.pathname,
    search: url.search.slice(1),
    address: '',
    header: (name) => request.headers.get(name) ?? (name === 'host' ? url.host : undefined),
    readBody: (bytesMax) => readBody(request, bytesMax),
    chunks: () => (request.body ?? new Blob([]).stream()) as AsyncIterable<Uint8Array>,
    whenGone: (tell) => {
      if (request.signal.aborted) tell()
      else request.signal.addEventListener('abort', tell, { once: true })
    },
    original: request,
  }
}

async function readBody(request: Request, bytesMax: number): Promise<string> {
  const tooLarge = (): HttpRefusal =>
    new HttpRefusal('BODY_TOO_LARGE', `the body has more than ${bytesMax} bytes.`)
  if (Number(request.headers.get('content-length') ?? 0) > bytesMax) throw tooLarge()
  if (request.body === null) return ''
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of request.body as AsyncIterable<Uint8Array>) {
    bytes += chunk.length
    if (bytes > bytesMax) throw tooLarge()
    chunks.push(chunk)
  }
  return decodeText(Buffer.concat(chunks), 'the body')
}

function responseOf(reply: HttpReply, request: Request, now: number): Response {
  const { status, headers, bytes, text, json, stream, onSent } = reply
  const content = bytes ?? text ?? (json === undefined ? null : JSON.stringify(json))
  const isHead = request.method === 'HEAD'
  const body = isHead ? null : stream === undefined ? content : streamOf(stream, request.signal)
  // Whether the host sends it all cannot be known; a client that has gone by now can.
  onSent?.(!request.signal.aborted)
  return new Response(body as ConstructorParameters<typeof Response>[0], {
    status,
    headers: {
      'x-content-type-options': 'nosniff',
      'punctual-now': String(Math.floor(now)),
      ...(content === null ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
  })
}

function streamOf(run: NonNullable<HttpReply['stream']>, gone: AbortSignal): ReadableStream {
  const closed = new AbortController()
  const encoder = new TextEncoder()
  let isOpen = true
  gone.addEventListener('abort', () => closed.abort())
  return new ReadableStream({
    start: (controller) => {
      const end = (): void => {
        if (!isOpen) return
        isOpen = false
        closed.abort()
        controller.close()
      }
      run({
        write: (text) => {
          if (!isOpen) return false
          controller.enqueue(encoder.encode(text))
          return (controller.desiredSize ?? 0) > -UNREAD_TEXTS_MAX
        },
        end,
        closed: closed.signal,
      })
    },
    cancel: () => {
      isOpen = false
      closed.abort()
    },
  })
}
