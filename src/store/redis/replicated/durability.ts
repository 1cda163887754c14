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
import { parseDuration } from '../../../core/input/duration.ts'
import type { RedisSettings } from '../address/options.ts'

export type Durability =
  | { readonly kind: 'primary' }
  | { readonly kind: 'replicated'; readonly replicas: number; readonly timeoutMs: number }

const REPLICAS_MAX = 100
const TIMEOUT_MS = 1000
const TIMEOUT_RANGE = { min: 50, max: 600_000 }

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
    replicas: readReplicas(replicas ?? 1),
    timeoutMs: parseDuration(replicationTimeout ?? TIMEOUT_MS, 'replicationTimeout', TIMEOUT_RANGE),
  }
}

function readReplicas(value: unknown): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= REPLICAS_MAX)
    return value
  throw new UsageError('OPTION_INVALID', `replicas is ${describe(value)}; allowed: 1 to ${REPLICAS_MAX}.`, {
    value,
  })
}

function unread(name: string, value: unknown): UsageError {
  return new UsageError(
    'OPTION_INVALID',
    `${name} is ${describe(value)}, which only durability "replicated" looks at; give that, or leave it out.`,
    { value },
  )
}
