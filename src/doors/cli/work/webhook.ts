/**
 * A handler elsewhere: each message is one POST.
 *
 *   body         the payload as JSON
 *   headers      punctual-id, punctual-topic, punctual-attempt, punctual-due-at, punctual-lateness-ms
 *   2xx          done
 *   410          never mind trying again: to the dead letters
 *   429, 503     with Retry-After in seconds: again after that time
 *   the rest     retried by policy, as is a connection that fails; redirects are not followed
 */
import { describe } from '../../../core/errors.ts'
import { DeadLetter, RetryIn, type Handler, type Message } from '../../../index.ts'
import { CallError } from '../../shared/failure.ts'
import { printable } from '../../shared/printable.ts'

const GONE = 410
const ASK_LATER = [429, 503]
const SHOWN_MAX = 200

export function webhookHandler(address: string): Handler {
  const url = parseAddress(address)
  return async (message) => {
    const response = await post(url, message)
    if (response.ok) return response.body?.cancel()
    const text = (await response.text()).slice(0, SHOWN_MAX)
    const why = printable(`${response.status} ${response.statusText} ${text}`)
    if (response.status === GONE) throw new DeadLetter(why)
    const seconds = Number(response.headers.get('retry-after') ?? NaN)
    if (ASK_LATER.includes(response.status) && seconds >= 0)
      throw new RetryIn(`${seconds}s`, { message: why })
    throw new Error(why)
  }
}

function parseAddress(address: string): URL {
  if (URL.canParse(address)) {
    const url = new URL(address)
    if (url.protocol === 'http:' || url.protocol === 'https:') return url
  }
  throw new CallError(`${describe(address)} is no address; write --webhook TOPIC=https://host/path.`)
}

async function post(url: URL, message: Message): Promise<Response> {
  const { id, topic, attempt, dueAt, latenessMs, payload, signal } = message
  try {
    return await fetch(url, {
      method: 'POST',
      redirect: 'manual',
      signal,
      body: JSON.stringify(payload) ?? '',
      headers: {
        'content-type': 'application/json',
        'punctual-id': encodeURIComponent(id),
        'punctual-topic': encodeURIComponent(topic),
        'punctual-attempt': String(attempt),
        'punctual-due-at': String(dueAt),
        'punctual-lateness-ms': String(Math.round(latenessMs)),
      },
    })
  } catch (error) {
    if (signal.aborted) throw error
    // fetch says "fetch failed" and hides why in the cause.
    const { cause } = error as Error
    throw new Error(`${url.origin}: ${cause instanceof Error ? cause.message : String(error)}`, {
      cause: error,
    })
  }
}
