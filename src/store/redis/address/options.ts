/**
 * What stands behind the question mark of a Redis URL, and the settings that may be given in code instead:
 *
 *   connectTimeout   how long one attempt to connect may take            5s
 *   callTimeout      how long a call waits for Redis before it fails      5s
 *   durability, replicas, replicationTimeout   see `durability`
 *   unproved         true: a server on which nothing is proved is used all the same
 *   tlsCa, tlsCert, tlsKey   PEM files: the authority, our certificate, its key (only with TLS)
 *   tlsServername    the name that the server's certificate carries (only with TLS)
 *   sentinelUsername, sentinelPassword   for the sentinels, where they ask for it (only with Sentinel)
 *   partitions       how many partitions the queue has (only with a cluster)                16
 */
import type { Duration } from '../../../core/input/duration.ts'
import {
  TIMEOUT_OPTIONS,
  numberOrText,
  readDurations,
  refuseUnknown,
  type TimeoutSettings,
} from '../../shared/url-options.ts'
import { readConsents, type Consent } from '../../shared/suited.ts'

export type TlsFiles = {
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
  readonly servername?: string
}

export type RedisSettings = TimeoutSettings & {
  readonly durability?: string
  readonly replicas?: number
  readonly replicationTimeout?: Duration
  readonly allowed?: readonly Consent[]
  /** Tests only: epoch ms to use instead of the server's clock. */
  readonly now?: () => number
}

type Scheme = { readonly isTls: boolean; readonly isSentinel: boolean; readonly isCluster: boolean }

const DURATION_OPTIONS = [...TIMEOUT_OPTIONS, 'replicationTimeout'] as const
const TLS_OPTIONS = { tlsCa: 'ca', tlsCert: 'cert', tlsKey: 'key', tlsServername: 'servername' } as const
const SENTINEL_OPTIONS = ['sentinelUsername', 'sentinelPassword'] as const
const CLUSTER_OPTIONS = ['partitions'] as const

export function readOptions(query: URLSearchParams, scheme: Scheme): RedisSettings {
  refuseUnknown(query, knownOptions(scheme), hintFor)
  const durability = query.get('durability')
  const replicas = query.get('replicas')
  return {
    ...readDurations(query, DURATION_OPTIONS),
    ...readConsents(query),
    ...(durability === null ? {} : { durability }),
    ...(replicas === null ? {} : { replicas: numberOrText(replicas) as number }),
  }
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

function knownOptions({ isTls, isSentinel, isCluster }: Scheme): readonly string[] {
  return [
    ...DURATION_OPTIONS,
    'durability',
    'replicas',
    'unproved',
    ...(isTls ? Object.keys(TLS_OPTIONS) : []),
    ...(isSentinel ? SENTINEL_OPTIONS : []),
    ...(isCluster ? CLUSTER_OPTIONS : []),
  ]
}

function hintFor(name: string): string {
  if (name in TLS_OPTIONS) return ' (it belongs to rediss://, rediss+sentinel:// and rediss+cluster://)'
  if ((SENTINEL_OPTIONS as readonly string[]).includes(name)) return ' (it belongs to redis+sentinel://)'
  if ((CLUSTER_OPTIONS as readonly string[]).includes(name)) return ' (it belongs to redis+cluster://)'
  return ''
}
