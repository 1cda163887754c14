/** Pages over all partitions, one after the other: a cursor names the partition, and the place in it. */
import { decodeCursor, encodeCursor } from '../../core/encoding/cursor.ts'
import type { Gap, ListQuery, Page, Store, StoredMessage, TagQuery } from '../contract/store.ts'
import { askAll } from './asking.ts'

/** A list stops after about so many messages that it looked at, even if its page is not full. */
const SCANNED_MAX = 1_000
const CURSOR = [/^partition$/, /^\d{1,5}$/, /^/]

type Paged = { readonly cursor?: string }
type AskPage<P> = (store: Store, inner: string | undefined) => Promise<P>

export class Walking {
  readonly #stores: readonly Store[]
  readonly #nameOf: (partition: number) => string

  constructor(stores: readonly Store[], nameOf: (partition: number) => string) {
    this.#stores = stores
    this.#nameOf = nameOf
  }

  /** One page of one partition; rejects where that is away. */
  async page<P extends Paged>(cursor: string | undefined, ask: AskPage<P>): Promise<P> {
    const { partition, inner } = this.#placeIn(cursor)
    return this.#paged(partition, await ask(this.#stores[partition] as Store, inner))
  }

  /** The same; a partition that is away is named and passed over. */
  async pageOrGap<P extends Gap & Paged>(cursor: string | undefined, empty: P, ask: AskPage<P>): Promise<P> {
    const { partition, inner } = this.#placeIn(cursor)
    const { given, failed } = await askAll([this.#stores[partition] as Store], (store) => ask(store, inner))
    const [away] = failed
    if (away !== undefined && this.#stores.length === 1) throw away.error
    const gap = away === undefined ? {} : { missing: [this.#nameOf(partition)] }
    return { ...this.#paged(partition, given[0] ?? empty), ...gap }
  }

  /** As many partitions as it takes to fill the page, within what one look may cost. */
  async list({ cursor: from, ...about }: ListQuery | TagQuery): Promise<Page> {
    const items: StoredMessage[] = []
    const missing: string[] = []
    let scanned = 0
    let cursor = from
    do {
      const limit = about.limit - items.length
      const page: Page = await this.pageOrGap<Page>(cursor, { items: [], scanned: 0 }, (store, inner) =>
        store.inspect({ ...about, limit, ...(inner === undefined ? {} : { cursor: inner }) }),
      )
      items.push(...page.items)
      missing.push(...(page.missing ?? []))
      scanned += page.scanned
      cursor = page.cursor
    } while (cursor !== undefined && items.length < about.limit && scanned < SCANNED_MAX)
    return {
      items,
      scanned,
      ...(cursor === undefined ? {} : { cursor }),
      ...(missing.length === 0 ? {} : { missing }),
    }
  }

  #placeIn(cursor: string | undefined): { readonly partition: number; readonly inner: string | undefined } {
    if (cursor === undefined) return { partition: 0, inner: undefined }
    const [, partition, inner] = decodeCursor(cursor, CURSOR)
    return {
      partition: Math.min(Number(partition), this.#stores.length - 1),
      inner: inner === '' ? undefined : inner,
    }
  }

  #paged<P extends Paged>(partition: number, page: P): P {
    const { cursor, ...about } = page
    const isLast = cursor === undefined && partition + 1 >= this.#stores.length
    if (isLast) return page
    const place = cursor === undefined ? [String(partition + 1), ''] : [String(partition), cursor]
    return { ...(about as P), cursor: encodeCursor(['partition', ...place]) }
  }
}
