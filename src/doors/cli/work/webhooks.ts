/** Webhooks as the command line names them, for `work --webhook` and `serve --deliver`. */
import { readFileSync } from 'node:fs'
import { validateHeaderName, validateHeaderValue } from 'node:http'
import { describe } from '../../../core/errors.ts'
import type { Duration } from '../../../index.ts'
import { CallError } from '../../shared/failure.ts'
import { AddressGuard } from '../../shared/webhook/addresses.ts'
import { parseSecrets, type WebhookSecrets } from '../../shared/webhook/signature.ts'
import { WEBHOOK_TIMEOUT, webhookHandler } from '../../shared/webhook/webhook.ts'
import type { Call, OptionSpecs, Values } from '../command.ts'
import type { LoadedHandler } from './load.ts'

export const WEBHOOK_OPTIONS = {
  'allow-address': {
    type: 'string',
    multiple: true,
    value: 'NETWORK',
    help: 'a network that webhooks may reach although it is not public: 10.0.0.0/8; repeatable',
  },
  header: {
    type: 'string',
    multiple: true,
    value: 'HEADER',
    help: 'sent with each webhook, like "authorization: Bearer ..."; repeatable',
  },
  'webhook-secrets': {
    type: 'string',
    value: 'FILE',
    help: 'JSON: by topic, what signs ("whsec_..."; two with a space between); default: $PUNCTUAL_WEBHOOK_SECRET for all',
  },
} as const satisfies OptionSpecs

type WebhookCall = Pick<Call, 'env' | 'clock' | 'queueName'> & {
  readonly values: Values<typeof WEBHOOK_OPTIONS> & { readonly timeout?: string }
}

/** `pairs`: TOPIC=URL. `option`: what the user wrote them with. */
export function webhookHandlers(
  { values, env, clock, queueName }: WebhookCall,
  option: string,
  pairs: readonly string[],
): LoadedHandler[] {
  if (pairs.length === 0) return []
  const guard = new AddressGuard(values['allow-address'])
  const secretsFor = readSecrets(values['webhook-secrets'], env.PUNCTUAL_WEBHOOK_SECRET)
  const headers = readHeaders(values.header)
  const timeout = (values.timeout ?? WEBHOOK_TIMEOUT) as Duration
  const now = (): number => clock.now()
  return pairs.map((pair) => {
    const { topic, rest } = splitPair(option, pair, 'URL')
    const secrets = secretsFor(topic)
    const handler = webhookHandler(rest, { queue: queueName, guard, secrets, headers, now })
    return { topic, handler, options: { timeout } }
  })
}

/** `TOPIC=REST`; the rest may hold more equals signs. */
export function splitPair(option: string, text: string, what: string): { topic: string; rest: string } {
  const at = text.indexOf('=')
  if (at < 1) throw new CallError(`${option} is ${describe(text)}; write ${option} TOPIC=${what}.`)
  return { topic: text.slice(0, at), rest: text.slice(at + 1) }
}

/** What the payload, its signature and the connection need is ours to say. */
const OURS = /^(?:punctual-|webhook-|content-|host$|connection$|transfer-encoding$)/

/** Values are not shown where they are wrong: they are keys, mostly. */
function readHeaders(given: readonly string[] = []): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {}
  for (const text of given) {
    const at = text.indexOf(':')
    const [name, value] = [text.slice(0, Math.max(0, at)).trim().toLowerCase(), text.slice(at + 1).trim()]
    if (OURS.test(name)) throw new CallError(`--header ${describe(name)} is set by punctual itself.`)
    try {
      validateHeaderName(name)
      validateHeaderValue(name, value)
    } catch {
      throw new CallError(`--header ${describe(name)} is no header; write --header 'NAME: VALUE'.`)
    }
    headers[name] = value
  }
  return headers
}

function readSecrets(
  file: string | undefined,
  forAll: string | undefined,
): (topic: string) => WebhookSecrets {
  const byTopic = file === undefined ? {} : readFile(file)
  for (const text of Object.values(byTopic)) parseSecrets(text)
  return (topic) => parseSecrets(Object.hasOwn(byTopic, topic) ? (byTopic[topic] ?? '') : (forAll ?? ''))
}

function readFile(file: string): Readonly<Record<string, string>> {
  let value: unknown
  try {
    value = JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new CallError(
      `the secrets in ${file} cannot be read: ${error instanceof Error ? error.message : ''}.`,
    )
  }
  const isRecord = typeof value === 'object' && value !== null && !Array.isArray(value)
  if (isRecord && Object.values(value as object).every((one) => typeof one === 'string'))
    return value as Readonly<Record<string, string>>
  throw new CallError(`${file} is not { "TOPIC": "whsec_..." }.`)
}
