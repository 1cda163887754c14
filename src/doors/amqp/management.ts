/** The few questions that only the management plugin answers, over its HTTP interface. */

const ANSWER_MS_MAX = 5_000

export class Management {
  readonly #base: URL
  readonly #vhost: string

  /** Without a user in its URL, the one of the broker's. */
  constructor(management: string, brokerUrl: string) {
    this.#base = new URL(management)
    const broker = new URL(brokerUrl)
    this.#vhost = encodeURIComponent(decodeURIComponent(broker.pathname.slice(1)) || '/')
    if (this.#base.username === '') {
      this.#base.username = broker.username === '' ? 'guest' : broker.username
      this.#base.password = broker.password === '' ? 'guest' : broker.password
    }
  }

  async bindingsFrom(exchange: string): Promise<number> {
    const bindings = await this.#get(
      `exchanges/${this.#vhost}/${encodeURIComponent(exchange)}/bindings/source`,
    )
    return Array.isArray(bindings) ? bindings.length : 0
  }

  /** The keys that policies, the operator's too, set on a queue. */
  async policyKeys(queue: string): Promise<string[]> {
    const lists = await Promise.all(
      ['policies', 'operator-policies'].map((kind) => this.#get(`${kind}/${this.#vhost}`)),
    )
    const policies = lists.flat().filter((policy): policy is BrokerPolicy => isPolicyFor(policy, queue))
    return [...new Set(policies.flatMap(({ definition }) => Object.keys(definition)))]
  }

  async #get(path: string): Promise<unknown> {
    const { username, password } = this.#base
    const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
    const url = new URL(`/api/${path}`, this.#base)
    url.username = ''
    url.password = ''
    const response = await fetch(url, {
      headers: { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` },
      signal: AbortSignal.timeout(ANSWER_MS_MAX),
    })
    if (!response.ok) throw new Error(`${response.status} ${response.statusText}`)
    return response.json()
  }
}

type BrokerPolicy = { readonly pattern: string; readonly 'apply-to': string; readonly definition: object }

function isPolicyFor(value: unknown, queue: string): value is BrokerPolicy {
  const { pattern, 'apply-to': kind, definition } = value as Partial<BrokerPolicy>
  if (typeof pattern !== 'string' || typeof definition !== 'object') return false
  if (!['all', 'queues', 'quorum_queues'].includes(kind ?? '')) return false
  try {
    return new RegExp(pattern).test(queue)
  } catch {
    return false // Something that only the broker's own expressions know.
  }
}
