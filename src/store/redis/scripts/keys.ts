/**
 * The names of a queue in Redis. The braces are a hash tag: whatever the queue is called, all its keys live in one
 * slot of a cluster, so that one script may touch them together. The 2 is the number of this layout; the next one will have
 * the next number, and its payloads under the same name. What each key holds: `scripts/parts/base.lua`.
 */
import type { PriorityRank } from '../../../core/message.ts'

const TYPES = {
  payload: 'hash',
  heads: 'zset',
  lines: 'zset',
  claims: 'zset',
  running: 'hash',
  failures: 'hash',
  dead: 'zset',
  died: 'hash',
  order: 'string',
  workers: 'zset',
  facts: 'hash',
  extras: 'hash',
  controls: 'hash',
} as const

/** Keys that few calls need: the scripts know their names. */
const RARE_TYPES = {
  remembered: 'zset',
  successors: 'hash',
  succeeding: 'hash',
  watch: 'hash',
  keyed: 'hash',
  turns: 'zset',
  resting: 'zset',
} as const

export type KeyName = keyof typeof TYPES | keyof typeof RARE_TYPES

/** Stands before the key of a message, behind its topic: no name has a control character. */
export const KEY_MARK = '\v'

export type LinePlace = {
  readonly topic: string
  readonly key?: string | undefined
  readonly priority: PriorityRank
}

/** A topic, and behind it the key of a message that has one: as lines and payloads have it. */
export function markedTopic(topic: string, key: string | undefined): string {
  return key === undefined ? topic : topic + KEY_MARK + key
}

/** The hash tag of a queue. A closing brace in the name would end it too soon: an empty tag is none. */
export function tagOf(queue: string): string {
  return `{${escaped(queue)}}`
}

export function escaped(queue: string): string {
  return queue.replaceAll('%', '%25').replaceAll('}', '%7D')
}

export class QueueKeys {
  /** The KEYS with which every script begins, in the order that the scripts expect. */
  readonly all: readonly string[]
  /** Every key that has one name, and the type that it has if it is ours. */
  readonly types: readonly (readonly [key: string, type: string])[]
  /** Of the layout before this one. It is there only as long as messages are. */
  readonly oldPayload: string
  /** Of the layout after this one, as a newer version will call it. */
  readonly newPayload: string
  readonly #isSharded: () => boolean
  readonly #prefix: string
  readonly #linePrefix: string
  readonly #claimPrefix: string

  /** `tag`: as `tagOf` makes it, or that of a partition. `isSharded`: whether wake-ups stay on the master of their slot. */
  constructor(tag: string, isSharded = (): boolean => false) {
    this.#isSharded = isSharded
    this.#prefix = `punctual:2:${tag}:`
    this.oldPayload = `punctual:${tag}:payload`
    this.newPayload = `punctual:3:${tag}:payload`
    this.#linePrefix = `${this.#prefix}line:`
    this.#claimPrefix = `${this.#prefix}claim:`
    this.all = Object.keys(TYPES).map((name) => this.#prefix + name)
    this.types = Object.entries({ ...TYPES, ...RARE_TYPES }).map(([name, type]) => [
      this.#prefix + name,
      type,
    ])
  }

  /** Its name tells the scripts how to publish: see `scripts/parts/base.lua`. */
  get channel(): string {
    return this.#prefix + (this.#isSharded() ? 'swakeups' : 'wakeups')
  }

  /** Where a store hears wake-ups: with all, and under its name in the watch. */
  channelsOf(name: string): readonly string[] {
    return [this.channel, `${this.channel}:${name}`]
  }

  named(name: KeyName): string {
    return this.#prefix + name
  }

  line({ topic, key, priority }: LinePlace): string {
    return `${this.#linePrefix}${markedTopic(topic, key)}:${priority}`
  }

  /** The topic and the priority in the name of a line; its key is in the payloads. */
  inLine(line: string): { readonly topic: string; readonly priority: PriorityRank } {
    const priority = Number(line.at(-1))
    const [topic = ''] = line.slice(this.#linePrefix.length, -2).split(KEY_MARK)
    return {
      topic,
      priority: priority === 0 || priority === 2 ? priority : 1,
    }
  }

  claim(token: string): string {
    return this.#claimPrefix + token
  }

  tokenOf(claim: string): string {
    return claim.slice(this.#claimPrefix.length)
  }
}

/** Every key of every queue, as SCAN matches them. */
export const QUEUE_KEY_PATTERN = 'punctual:2:{*}:*'

/** The queue that a key belongs to; undefined for a key that is not ours. */
export function queueOfKey(key: string): string | undefined {
  const tag = /^punctual:2:\{([^}]+)\}:/.exec(key)?.[1]
  return tag?.replaceAll('%7D', '}').replaceAll('%25', '%')
}
