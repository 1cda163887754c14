/**
 * A handler elsewhere: each message is one POST.
 *
 *   body         the payload as JSON
 *   headers      punctual-id, punctual-topic, punctual-attempt, punctual-due-at, punctual-lateness-ms; webhook-id,
 *                webhook-timestamp, webhook-signature (Standard Webhooks)
 *   2xx          done
 *   410          never mind trying again: to the dead letters
 *   429, 503     with Retry-After: again after that time
 *   the rest     retried by policy, as is a connection that fails; redirects are not followed
 */
import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { describe } from '../../../core/errors.ts'
import { VERSION } from '../../../core/version.ts'
import { DELAY_MS_MAX } from '../../../core/input/duration.ts'
import { DeadLetter, RetryIn, type Handler, type Message } from '../../../index.ts'
import { CallError } from '../failure.ts'
import { printable } from '../printable.ts'
import { AddressRefused, type AddressGuard } from './addresses.ts'
import { signedHeaders, webhookId, type WebhookSecrets } from './signature.ts'

const GONE = 410
const ASK_LATER = [429, 503]
const SHOWN_MAX = 200
/** Of an answer; the rest is not read. */
const ANSWER_BYTES_MAX = 64 * 1024

/** How long one attempt may take, unless somebody says otherwise. */
export const WEBHOOK_TIMEOUT = '15s'

export type WebhookOptions = {
  readonly queue: string
  readonly guard: AddressGuard
  readonly secrets: WebhookSecrets
  /** Besides ours. */
  readonly headers: Readonly<Record<string, string>>
  /** The wall clock. */
  readonly now: () => number
}

type WebhookAnswer = {
  readonly status: number
  readonly title: string
  readonly retryAfter: string | undefined
  readonly text: string
}

export function webhookHandler(address: string, options: WebhookOptions): Handler {
  const url = parseAddress(address, options.guard)
  const agent = options.guard.makeAgent(url.protocol)
  return async (message) => {
    const { status, title, retryAfter, text } = await post(url, message, { ...options, agent })
    if (status >= 200 && status < 300) return
    const why = printable(`${status} ${title} ${text.slice(0, SHOWN_MAX)}`)
    if (status === GONE) throw new DeadLetter(why)
    const delayMs = retryAfter === undefined ? undefined : delayOf(retryAfter, options.now())
    if (ASK_LATER.includes(status) && delayMs !== undefined) throw new RetryIn(delayMs, { message: why })
    throw new Error(why)
  }
}

function parseAddress(address: string, guard: AddressGuard): URL {
  if (!URL.canParse(address))
    throw new CallError(`${describe(address)} is no address; write TOPIC=https://host/path.`)
  const url = new URL(address)
  try {
    guard.checkUrl(url)
  } catch (error) {
    if (error instanceof AddressRefused) throw new CallError(`${describe(address)}: ${error.message}.`)
    throw error
  }
  return url
}

/** Seconds, or a date. Undefined: neither. */
function delayOf(retryAfter: string, now: number): number | undefined {
  const ms = /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1_000 : Date.parse(retryAfter) - now
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(0, ms), DELAY_MS_MAX)
}

async function post(
  url: URL,
  message: Message,
  {
    queue,
    guard,
    secrets,
    headers: given,
    now,
    agent,
  }: WebhookOptions & { readonly agent: RequestOptions['agent'] },
): Promise<WebhookAnswer> {
  const { id, topic, attempt, dueAt, latenessMs, payload, signal } = message
  const body = JSON.stringify(payload) ?? ''
  const headers = {
    'user-agent': `punctual/${VERSION}`,
    ...given,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'punctual-id': encodeURIComponent(id),
    'punctual-topic': encodeURIComponent(topic),
    'punctual-attempt': String(attempt),
    'punctual-due-at': String(dueAt),
    'punctual-lateness-ms': String(Math.round(latenessMs)),
    ...signedHeaders({ id: webhookId(queue, id), body, now: now() }, secrets),
  }
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void =>
      reject(signal.aborted ? error : new Error(`${url.origin}: ${error.message}`, { cause: error }))
    const request = send(
      url,
      { method: 'POST', headers, signal, agent, lookup: guard.lookup },
      (response) => {
        readAnswer(response).then(resolve, fail)
      },
    )
    request.once('error', fail)
    request.end(body)
  })
}

async function readAnswer(response: IncomingMessage): Promise<WebhookAnswer> {
  const { statusCode = 0, statusMessage = '', headers } = response
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes > ANSWER_BYTES_MAX) break // Leaving the loop closes the connection.
  }
  return {
    status: statusCode,
    title: statusMessage,
    retryAfter: headers['retry-after'],
    text: Buffer.concat(chunks).toString(),
  }
}
