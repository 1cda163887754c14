/**
 * What stands behind the question mark of a Redis URL, and the settings that may be given in code instead:
 *
 *   connectTimeout   how long one attempt to connect may take            5s
 *   callTimeout      how long a call waits for Redis before it fails      5s
 *   durability, replicas, replicationTimeout   see `durability`
 *   tlsCa, tlsCert, tlsKey   PEM files: the authority, our certificate, its key (only with TLS)
 *   tlsServername    the name that the server's certificate carries (only with TLS)
 *   sentinelUsername, sentinelPassword   for the sentinels, where they ask for it (only with Sentinel)
 *   partitions       how many partitions the queue has (only with a cluster)                16
 */
import { UsageError, describe } from '../../../core/errors.ts'
import { parseDuration, type Duration } from '../../../core/input/duration.ts'

export type TlsFiles = {
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
  readonly servername?: string
}

export type RedisSettings = {
  readonly connectTimeout?: Duration
  readonly callTimeout?: Duration
  readonly durability?: string
  readonly replicas?: number
  readonly replicationTimeout?: Duration
  /** Tests only: epoch ms to use instead of the server's clock. */
  readonly now?: () => number
}

export type Timeouts = { readonly connectTimeoutMs: number; readonly callTimeoutMs: number }

type Scheme = { readonly isTls: boolean; readonly isSentinel: boolean; readonly isCluster: boolean }

const TIMEOUT_MS = 5000
const TIMEOUT_RANGE = { min: 50, max: 600_000 }
const DURATION_OPTIONS = ['connectTimeout', 'callTimeout', 'replicationTimeout'] as const
const TLS_OPTIONS = { tlsCa: 'ca', tlsCert: 'cert', tlsKey: 'key', tlsServername: 'servername' } as const
const SENTINEL_OPTIONS = ['sentinelUsername', 'sentinelPassword'] as const
const CLUSTER_OPTIONS = ['partitions'] as const

export function readTimeouts(settings: RedisSettings): Timeouts {
  return {
    connectTimeoutMs: parseDuration(settings.connectTimeout ?? TIMEOUT_MS, 'connectTimeout', TIMEOUT_RANGE),
    callTimeoutMs: parseDuration(settings.callTimeout ?? TIMEOUT_MS, 'callTimeout', TIMEOUT_RANGE),
  }
}

export function readOptions(query: URLSearchParams, scheme: Scheme): RedisSettings {
  refuseUnknown(query, scheme)
  const settings: Record<string, number | string> = {}
  for (const name of DURATION_OPTIONS) {
    const text = query.get(name)
    if (text !== null) settings[name] = parseDuration(asNumber(text), name, TIMEOUT_RANGE)
  }
  const durability = query.get('durability')
  if (durability !== null) settings['durability'] = durability
  const replicas = query.get('replicas')
  if (replicas !== null) settings['replicas'] = asNumber(replicas) as number
  return settings
}

export function readTls(query: URLSearchParams, { isTls }: Scheme): { readonly tls?: TlsFiles } {
  if (!isTls) return {}
  const files: Record<string, string> = {}
  for (const [option, field] of Object.entries(TLS_OPTIONS)) {
    const value = query.get(option)
    if (value !== null) files[field] = value
  }
  return { tls: files }
}

function refuseUnknown(query: URLSearchParams, { isTls, isSentinel, isCluster }: Scheme): void {
  const known: readonly string[] = [
    ...DURATION_OPTIONS,
    'durability',
    'replicas',
    ...(isTls ? Object.keys(TLS_OPTIONS) : []),
    ...(isSentinel ? SENTINEL_OPTIONS : []),
    ...(isCluster ? CLUSTER_OPTIONS : []),
  ]
  for (const name of query.keys()) {
    if (known.includes(name)) continue
    throw new UsageError(
      'OPTION_UNKNOWN',
      `the store URL has the option ${describe(name)}${hintFor(name)}; allowed here: ${known.join(', ')}.`,
      { value: name },
    )
  }
}

function hintFor(name: string): string {
  if (name in TLS_OPTIONS) return ' (it belongs to rediss://, rediss+sentinel:// and rediss+cluster://)'
  if ((SENTINEL_OPTIONS as readonly string[]).includes(name)) return ' (it belongs to redis+sentinel://)'
  if ((CLUSTER_OPTIONS as readonly string[]).includes(name)) return ' (it belongs to redis+cluster://)'
  return ''
}

function asNumber(text: string): number | string {
  return /^\d+$/.test(text) ? Number(text) : text
}
