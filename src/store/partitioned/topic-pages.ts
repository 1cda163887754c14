/**
 * Counts by topic over all partitions, page by page. A topic has messages in many of them and is to be shown once, with
 * their sum, and all topics together may be too many to keep in memory. So each partition is walked in turn; for the topics on its page all
 * others are asked by name; and what one before it has was shown there.
 */
import { decodeCursor, encodeCursor } from '../../core/encoding/cursor.ts'
import type { Gap, Store, TopicCounts, TopicsPage, TopicsQuery } from '../contract/store.ts'
import { askAll, type FailedAnswer } from './asking.ts'
import { mergeTopics } from './merging.ts'

const CURSOR = [/^partition topics$/, /^\d{1,5}$/, /^/]

export class TopicPages {
  readonly #stores: readonly Store[]
  readonly #gap: (failed: readonly FailedAnswer[]) => Gap

  constructor(stores: readonly Store[], gap: (failed: readonly FailedAnswer[]) => Gap) {
    this.#stores = stores
    this.#gap = gap
  }

  async count(query: TopicsQuery): Promise<TopicsPage> {
    if ('topics' in query) return this.#named(query.topics)
    const topics: [string, TopicCounts][] = []
    const missing = new Set<string>()
    let { cursor } = query
    do {
      const limit = query.limit - topics.length
      const page: TopicsPage = await this.#page({ limit, ...(cursor === undefined ? {} : { cursor }) })
      topics.push(...Object.entries(page.topics))
      for (const name of page.missing ?? []) missing.add(name)
      cursor = page.cursor
    } while (cursor !== undefined && topics.length < query.limit)
    return {
      topics: Object.fromEntries(topics), // fromEntries, because a topic may be called "__proto__".
      ...(cursor === undefined ? {} : { cursor }),
      ...(missing.size === 0 ? {} : { missing: [...missing] }),
    }
  }

  async #page(query: { readonly limit: number; readonly cursor?: string }): Promise<TopicsPage> {
    const [, place = '0', inner = ''] = query.cursor === undefined ? [] : decodeCursor(query.cursor, CURSOR)
    const partition = Math.min(Number(place), this.#stores.length - 1)
    const { given, failed } = await askAll([this.#stores[partition] as Store], (store) =>
      store.countTopics({ limit: query.limit, ...(inner === '' ? {} : { cursor: inner }) }),
    )
    const [page = { topics: {} }] = given
    const names = Object.keys(page.topics)
    const shown = names.length === 0 ? { topics: {} } : await this.#named(names, partition)
    const away = failed.map(({ error }) => ({ partition, error }))
    const cursor = this.#after(partition, page.cursor)
    return {
      ...shown,
      ...(away.length === 0 ? {} : this.#gap(away)),
      ...(cursor === undefined ? {} : { cursor }),
    }
  }

  /** `from`: only those that no partition before this one has. */
  async #named(topics: readonly string[], from = 0): Promise<TopicsPage> {
    const { given, failed } = await askAll(this.#stores, async (store, partition) => ({
      partition,
      found: Object.entries((await store.countTopics({ topics })).topics),
    }))
    if (given.length === 0) throw failed[0]?.error
    const sums = new Map<string, TopicCounts>()
    const isShown = new Set<string>()
    for (const { partition, found } of given)
      for (const [topic, counts] of found) {
        if (counts.waiting + counts.running + counts.dead === 0) continue
        if (partition < from) isShown.add(topic)
        sums.set(topic, mergeTopics(sums.get(topic), counts))
      }
    for (const topic of isShown) sums.delete(topic)
    return { topics: Object.fromEntries(sums), ...this.#gap(failed) }
  }

  #after(partition: number, inner: string | undefined): string | undefined {
    if (inner !== undefined) return encodeCursor(['partition topics', String(partition), inner])
    return partition + 1 < this.#stores.length
      ? encodeCursor(['partition topics', String(partition + 1), ''])
      : undefined
  }
}
