/** Calls of the server. An error answer is a value with a sentence for people; it never replaces the page. */
import { segmentOf } from '../../../../core/encoding/segment.ts'
import { BASE, place } from './address.ts'
import { correctClock } from './clock.ts'
import type { Trouble } from './wire.ts'

export class CallFailure extends Error {
  readonly trouble: Trouble

  constructor(trouble: Trouble) {
    super(trouble.detail)
    this.trouble = trouble
  }
}

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export type CallOptions = {
  readonly body?: unknown
  readonly signal?: AbortSignal
  readonly headers?: Readonly<Record<string, string>>
}

/** `path` begins with `/v1`. */
export async function call<T>(method: Method, path: string, options: CallOptions = {}): Promise<T> {
  const { body, signal, headers = {} } = options
  const response = await send(method, path, {
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(signal === undefined ? {} : { signal }),
  })
  const serverMs = Number(response.headers.get('punctual-now'))
  if (serverMs > 0) correctClock(serverMs)
  const text = await response.text()
  const isJson = /\bjson\b/.test(response.headers.get('content-type') ?? '')
  const answer: unknown = isJson && text !== '' ? JSON.parse(text) : undefined
  if (response.ok) return answer as T
  throw new CallFailure(
    isTrouble(answer)
      ? answer
      : noAnswer(response.status, `The server answered ${response.status} ${response.statusText}.`),
  )
}

async function send(method: Method, path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(BASE + path, { method, credentials: 'same-origin', ...init })
  } catch (error) {
    if (init.signal?.aborted === true) throw error
    throw new CallFailure(noAnswer(0, 'The server does not answer.'))
  }
}

function noAnswer(status: number, detail: string): Trouble {
  return { title: 'No answer', status, detail, code: 'NO_ANSWER' }
}

function isTrouble(value: unknown): value is Trouble {
  return typeof value === 'object' && value !== null && 'detail' in value && 'code' in value
}

export function troubleOf(error: unknown): Trouble {
  if (error instanceof CallFailure) return error.trouble
  return { title: 'Error', status: 0, detail: String(error), code: 'UNEXPECTED' }
}

/** The path of something in the queue that is shown. */
export function inQueue(...segments: readonly string[]): string {
  return `/v1/queues/${[place.value.queue ?? '', ...segments].map(segmentOf).join('/')}`
}
