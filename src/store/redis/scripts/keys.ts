/**
 * The names of a queue in Redis. The braces are a hash tag: whatever the queue is called, all its keys live in one
 * slot of a cluster, so that one script may touch them together. What each key holds: `scripts/parts/base.lua`.
 */

const SUFFIXES = [
  'sequence',
  'delay_tasks:high',
  'delay_tasks',
  'delay_tasks:low',
  'pending',
  'payload',
  'leases',
  'running',
  'failures',
  'dead',
  'topics',
  'topic_numbers',
] as const

/** The KEYS of every script, in the order that the scripts expect. */
export function queueKeys(queue: string): readonly string[] {
  return SUFFIXES.map((suffix) => `${prefixOf(queue)}:${suffix}`)
}

/** The Redis type of each key, in the same order. */
export const KEY_TYPES = [
  'string',
  'zset',
  'zset',
  'zset',
  'zset',
  'hash',
  'zset',
  'hash',
  'hash',
  'zset',
  'hash',
  'hash',
] as const

export function wakeChannel(queue: string): string {
  return `${prefixOf(queue)}:delay_wakeup`
}

/** A closing brace in the name would end the tag too soon: an empty tag is none. */
function prefixOf(queue: string): string {
  return `punctual:{${queue.replaceAll('%', '%25').replaceAll('}', '%7D')}}`
}

/** Every key of every queue, as SCAN matches them. */
export const QUEUE_KEY_PATTERN = 'punctual:{*}:*'

/** The queue that a key belongs to; undefined for a key that is not ours. */
export function queueOfKey(key: string): string | undefined {
  const tag = /^punctual:\{([^}]+)\}:/.exec(key)?.[1]
  return tag?.replaceAll('%7D', '}').replaceAll('%25', '%')
}
