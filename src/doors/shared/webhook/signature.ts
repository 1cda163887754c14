/**
 * Standard Webhooks: the receiver can prove that a call comes from us, and that it is the same message again.
 *
 *   webhook-id          the same over all attempts
 *   webhook-timestamp   seconds since 1970
 *   webhook-signature   v1,<base64 of HMAC-SHA256 over "id.timestamp.body">, one for each secret
 *
 * The standard forbids a dot in the id, and ours may hold anything: so it is a digest of queue and id. Two secrets sign at
 * once while one replaces the other.
 */
import { createHash, createHmac } from 'node:crypto'
import { CallError } from '../failure.ts'

const SECRET_PREFIX = 'whsec_'
const SECRET_BYTES_MIN = 16
const SECRETS_MAX = 4

export type WebhookSecrets = readonly Buffer[]

/** `whsec_...`, one or several with spaces between. */
export function parseSecrets(text: string): WebhookSecrets {
  const words = text.split(/\s+/).filter((word) => word !== '')
  if (words.length > SECRETS_MAX) throw new CallError(`at most ${SECRETS_MAX} webhook secrets sign at once.`)
  return words.map((word) => {
    const bytes = Buffer.from(word.slice(SECRET_PREFIX.length), 'base64')
    if (word.startsWith(SECRET_PREFIX) && bytes.length >= SECRET_BYTES_MIN) return bytes
    throw new CallError(
      `a webhook secret is ${SECRET_PREFIX} and at least ${SECRET_BYTES_MIN} bytes in base64, as: ${SECRET_PREFIX}$(openssl rand -base64 32).`,
    )
  })
}

export function webhookId(queue: string, id: string): string {
  return `msg_${createHash('sha256').update(`${queue}\n${id}`).digest('base64url')}`
}

/** `now`: epoch milliseconds. */
export function signedHeaders(
  { id, body, now }: { readonly id: string; readonly body: string; readonly now: number },
  secrets: WebhookSecrets,
): Record<string, string> {
  const timestamp = String(Math.floor(now / 1_000))
  const signatures = secrets.map(
    (secret) => `v1,${createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64')}`,
  )
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    ...(signatures.length === 0 ? {} : { 'webhook-signature': signatures.join(' ') }),
  }
}
