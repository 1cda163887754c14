/**
 * What an acknowledged write has reached:
 *
 *   primary      the primary has it (the default); replicas get it a moment later, and a failover in that moment loses it
 *   replicated   so many replicas have it too, by WAIT; a failover to one of them loses nothing
 *
 *   replicas             how many replicas must have it                                  1
 *   replicationTimeout   how long to wait for them before the call fails, its effect unknown   1s
 */
import { UsageError, describe } from '../../../core/errors.ts'
import { checkRecord, parseInteger } from '../../../core/input/checks.ts'
import { parseDuration, type Duration } from '../../../core/input/duration.ts'
import type { RedisSettings } from '../address/options.ts'

export type Durability =
  | { readonly kind: 'primary' }
  | { readonly kind: 'replicated'; readonly replicas: number; readonly timeoutMs: number }

/** As the constructor takes it; see docs/redis.md. */
export type DurabilityOption =
  | 'primary'
  | 'replicated'
  | {
      /** How many replicas must have it. Default 1. */
      replicas?: number
      /** How long to wait for them; then the call fails, its effect unknown. Default `1s`. */
      timeout?: Duration
    }

/** The same, in the words of the URL's options. */
export type DurabilitySettings = Pick<RedisSettings, 'durability' | 'replicas' | 'replicationTimeout'>

const REPLICAS_MAX = 100
const TIMEOUT_MS = 1000
const TIMEOUT_RANGE = { min: 50, max: 600_000 }

/** What was said in code, checked. */
export function parseDurability(value: unknown): DurabilitySettings {
  if (value === 'primary' || value === 'replicated') return { durability: value }
  if (typeof value !== 'object' || value === null) {
    throw new UsageError(
      'OPTION_INVALID',
      `durability is ${describe(value)}; give "primary", "replicated" or { replicas, timeout }.`,
      { value },
    )
  }
  const { replicas, timeout } = checkRecord(value, 'durability', ['replicas', 'timeout'])
  return {
    durability: 'replicated',
    ...(replicas === undefined ? {} : { replicas: readReplicas(replicas, 'durability.replicas') }),
    ...(timeout === undefined
      ? {}
      : { replicationTimeout: parseDuration(timeout, 'durability.timeout', TIMEOUT_RANGE) }),
  }
}

export function readDurability(settings: RedisSettings): Durability {
  const { durability = 'primary', replicas, replicationTimeout } = settings
  if (durability === 'primary') {
    if (replicas !== undefined) throw unread('replicas', replicas)
    if (replicationTimeout !== undefined) throw unread('replicationTimeout', replicationTimeout)
    return { kind: 'primary' }
  }
  if (durability !== 'replicated') {
    throw new UsageError(
      'OPTION_INVALID',
      `durability is ${describe(durability)}; give "primary" or "replicated".`,
      { value: durability },
    )
  }
  return {
    kind: 'replicated',
    replicas: readReplicas(replicas ?? 1, 'replicas'),
    timeoutMs: parseDuration(replicationTimeout ?? TIMEOUT_MS, 'replicationTimeout', TIMEOUT_RANGE),
  }
}

function readReplicas(value: unknown, name: string): number {
  return parseInteger(value, name, { min: 1, max: REPLICAS_MAX })
}

function unread(name: string, value: unknown): UsageError {
  return new UsageError(
    'OPTION_INVALID',
    `${name} is ${describe(value)}, which only durability "replicated" looks at; give that, or leave it out.`,
    { value },
  )
}
