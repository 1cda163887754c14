/** What people do to a whole topic, or to the whole queue: pause, resume, limit. */
import type { Clock } from '../../clock.ts'
import { WHOLE_QUEUE } from '../../core/controls.ts'
import {
  parseControlled,
  parseKeyLimit,
  parseLimit,
  parseLimitedKey,
  parsePause,
  parseResume,
  type KeyLimitOptions,
  type LimitOptions,
  type PauseOptions,
  type ResumeOptions,
} from '../../core/input/limits.ts'
import { parseKeys, type KeysOptions } from '../../core/input/questions.ts'
import type { TopicSchemas } from '../../core/input/schema.ts'
import { checkTopic } from '../../core/input/names.ts'
import type { Store } from '../../store/contract/store.ts'
import { readKeys, type KeyPage } from '../looking/keys.ts'
import { resume } from './controls.ts'
import type { TopicName } from '../topics.ts'

export class Steering<T extends object, S extends TopicSchemas> {
  readonly #open: () => Promise<Store>
  readonly #clock: Clock

  constructor(open: () => Promise<Store>, clock: Clock) {
    this.#open = open
    this.#clock = clock
  }

  /** From now on no process starts a message of this topic; without one, of any. What runs goes on. */
  async pause(topic?: TopicName<T, S>, options?: PauseOptions): Promise<void> {
    const name = parseControlled(topic) ?? WHOLE_QUEUE
    const until = parsePause(options, this.#clock.now())
    await (
      await this.#open()
    ).control({ kind: 'pause', topic: name, ...(until === undefined ? {} : { until }) })
  }

  /** Ends the pause of this topic, or without one that of the whole queue; a topic's own pause then still holds. */
  async resume(topic?: TopicName<T, S>, options?: ResumeOptions): Promise<void> {
    const name = parseControlled(topic)
    const overMs = parseResume(options)
    await resume(await this.#open(), name, overMs, this.#clock.now())
  }

  /**
   * How fast messages of this topic may start, and how many may run, over all processes; `perKey` says it of each key. With
   * `key` it is the limit, or the weight, of one key. null takes the limit back.
   */
  limit(topic: TopicName<T, S>, to: LimitOptions | null): Promise<void>
  limit(topic: TopicName<T, S>, to: KeyLimitOptions | null, of: { key: string }): Promise<void>
  async limit(
    topic: TopicName<T, S>,
    to: LimitOptions | KeyLimitOptions | null,
    of?: { key: string },
  ): Promise<void> {
    const name = checkTopic(topic)
    const key = parseLimitedKey(of)
    const change =
      key === undefined
        ? ({ kind: 'limit', topic: name, limit: parseLimit(to) } as const)
        : ({ kind: 'limit', topic: name, key, limit: parseKeyLimit(to) } as const)
    await (await this.#open()).control(change)
  }

  /** The keys of a topic that have something waiting, or a limit of their own, page by page. */
  async keys(topic: TopicName<T, S>, options?: KeysOptions): Promise<KeyPage> {
    const name = checkTopic(topic)
    const page = parseKeys(options)
    return readKeys(await this.#open(), name, page)
  }
}
