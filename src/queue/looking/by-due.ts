/**
 * Messages in the order in which they are due, all topics together. Engines walk their index topic by topic, and none has one
 * over all; but each can count what is due between two moments, and list what is. So a page is found in two steps:
 *
 *   now ─┬──┬────┬────────┬────────────────┬─── …       1  count in bars (`forecast`), and take the nearest that together
 *        └──── window ────┘                                hold about a page
 *                                                       2  list the window, whatever its topics (`inspect`), and sort it
 *
 * More than can be sorted falls due in one millisecond: such a window needs no order, and is shown as the engine walks it.
 * What does not wait (running, dead), and what is looked for by a tag, a key or a prefix of the id, no engine counts by moments:
 * it is gathered and sorted a few thousand at a time, which is all of it unless there are more.
 *
 * Cost: a dozen calls of the store for a page, each bounded; at most CALLS_MAX, then the page is short and says where to
 * go on.
 */
import { encodeCursor, decodeCursor } from '../../core/encoding/cursor.ts'
import { DELAY_MS_MAX } from '../../core/input/duration.ts'
import { parseList, type ListOptions } from '../../core/input/questions.ts'
import type { MessageState } from '../../core/message.ts'
import type { Page, Store, StoredMessage } from '../../store/contract/store.ts'
import { Gaps } from './gaps.ts'
import { listStored } from './inspection.ts'

/** `-due`: the latest first. */
export const DUE_ORDERS = ['due', '-due'] as const
export type DueOrder = (typeof DUE_ORDERS)[number]

/** What is listed one after the other. `found`: by tag, key or prefix, in all states. */
const SECTIONS = ['running', 'waiting', 'dead', 'found'] as const
type DueSection = (typeof SECTIONS)[number]

/** Where a page begins. */
type DuePlace = {
  readonly section: DueSection
  /** After the message of this moment and id; an empty id: at this moment. */
  readonly at?: number
  readonly id: string
  /** In a window that is shown as the engine walks it: its other end, and the state. */
  readonly far?: number
  readonly state?: 'delayed' | 'ready'
  /** Where the engine goes on: in that window, or in what is gathered. */
  readonly inner?: string
}

const CALLS_MAX = 300
/** So many are sorted together at most. */
const GATHERED_MAX = 4_000
const PAGE = 1_000
const LIMIT_DEFAULT = 100
/** A window may hold so many times what is wanted. */
const TIMES_WANTED = 4
/** A search for a text looks at many to find few. */
const TEXT_WANTED = 1_000

export function listByDue(
  store: Store,
  options: ListOptions,
  { order, now }: { readonly order: DueOrder; readonly now: number },
): Promise<Page> {
  return new DuePage(store, options, order, Math.floor(now)).find()
}

class DuePage {
  readonly #store: Store
  readonly #asked: ListOptions
  readonly #order: DueOrder
  readonly #now: number
  readonly #limit: number
  readonly #place: DuePlace | undefined
  readonly #items: StoredMessage[] = []
  readonly #gaps = new Gaps()
  #scanned = 0
  #calls = 0

  constructor(store: Store, options: ListOptions, order: DueOrder, now: number) {
    const { limit = LIMIT_DEFAULT, cursor, ...asked } = options
    parseList({ ...asked, limit }, now) // What is wrong is said before the store is asked.
    this.#store = store
    this.#asked = asked
    this.#order = order
    this.#now = now
    this.#limit = limit
    this.#place = cursor === undefined ? this.#first(this.#sections()[0]) : parsePlace(cursor, order)
  }

  async find(): Promise<Page> {
    let place = this.#place
    while (place !== undefined && this.#items.length < this.#limit && this.#calls < CALLS_MAX)
      place = await this.#step(place)
    const cursor = place === undefined ? {} : { cursor: cursorOf(place, this.#order) }
    return { items: this.#items, scanned: this.#scanned, ...cursor, ...this.#gaps.shown }
  }

  get #isRising(): boolean {
    return this.#order === 'due'
  }

  /** The last edge that can be named: behind it lies little more than what was spread or snoozed there. */
  get #latest(): number {
    return this.#now + DELAY_MS_MAX
  }

  #sections(): readonly DueSection[] {
    const { state, tag, key, idPrefix } = this.#asked
    if ([tag, key, idPrefix].some((part) => part !== undefined)) return ['found']
    if (state === 'delayed' || state === 'ready') return ['waiting']
    if (state !== undefined) return [state]
    const all: readonly DueSection[] = ['running', 'waiting', 'dead']
    return this.#isRising ? all : all.toReversed()
  }

  #first(section: DueSection | undefined): DuePlace | undefined {
    return section && { section, id: '' }
  }

  #next({ section }: DuePlace): DuePlace | undefined {
    const sections = this.#sections()
    return this.#first(sections[sections.indexOf(section) + 1])
  }

  /** Takes what it finds at this place; answers the next. */
  #step(place: DuePlace): Promise<DuePlace | undefined> {
    if (place.section !== 'waiting') return this.#stepGathered(place)
    return place.far === undefined ? this.#stepWindow(place) : this.#stepDense(place, place.far)
  }

  async #stepGathered(place: DuePlace): Promise<DuePlace | undefined> {
    const { section, inner } = place
    const about = section === 'running' || section === 'dead' ? { state: section } : {}
    const { items, cursor } = await this.#gather(about, inner)
    const left = this.#sorted(items, place)
    const last = this.#take(left)
    if (last !== undefined) return { ...place, at: momentOf(last), id: last.id }
    return cursor === undefined ? this.#next(place) : { section, id: '', inner: cursor }
  }

  async #stepWindow(place: DuePlace): Promise<DuePlace | undefined> {
    const [begin, end] = this.#range()
    const near = place.at === undefined ? begin : this.#isRising ? place.at : place.at + 1
    if (this.#isRising ? near >= end : near <= end) return this.#next(place)
    const [start, counted] = await this.#window(near, end)
    let stop = counted
    for (;;) {
      const found = await this.#list(Math.min(start, stop), Math.max(start, stop))
      if (found !== undefined) {
        const last = this.#take(this.#sorted(found, place))
        if (last !== undefined) return { section: 'waiting', at: last.dueAt, id: last.id }
        return stop === end ? this.#next(place) : this.#behind(stop)
      }
      if (Math.abs(stop - start) <= 1 || this.#calls >= CALLS_MAX)
        return { section: 'waiting', id: '', at: start, far: stop, state: 'ready' }
      // More than was counted: the nearer half of it.
      stop = start + Math.trunc((stop - start) / 2)
    }
  }

  /** At the near side of an edge: messages of that very moment lie on the far side of it only in rising order. */
  #behind(edge: number): DuePlace {
    return { section: 'waiting', id: '', at: this.#isRising ? edge : edge - 1 }
  }

  /** A window in which the order does not matter, state by state. */
  async #stepDense(place: DuePlace, stop: number): Promise<DuePlace | undefined> {
    const { at: start = stop, state = 'ready', inner } = place
    const range = { dueFrom: Math.min(start, stop), dueUntil: Math.max(start, stop) }
    const page = this.#isAsked(state)
      ? await this.#page({ state, ...range }, inner, this.#limit - this.#items.length)
      : { items: [], cursor: undefined }
    this.#items.push(...page.items)
    if (page.cursor !== undefined) return { ...place, inner: page.cursor }
    if (state === 'ready') return { section: 'waiting', id: '', at: start, far: stop, state: 'delayed' }
    return this.#behind(stop)
  }

  #isAsked(state: MessageState): boolean {
    return this.#asked.state === undefined || this.#asked.state === state
  }

  /** Between which edges what waits is looked for, the near one first. */
  #range(): readonly [near: number, end: number] {
    const { state, dueFrom, dueUntil } = this.#asked
    const from = Math.max(Number(dueFrom ?? 0), state === 'delayed' ? this.#now + 1 : 0)
    const latest = state === 'ready' ? this.#now + 1 : this.#latest
    const until = Math.min(Number(dueUntil ?? Infinity), latest)
    return this.#isRising ? [from, until] : [until, from]
  }

  /**
   * The edges of the nearest window that holds about as many as are wanted. A count may be an estimate, in which an empty bar is not
   * empty: windows lie side by side, and none is skipped.
   */
  async #window(near: number, end: number): Promise<[start: number, stop: number]> {
    const wanted = this.#asked.text === undefined ? this.#limit - this.#items.length : TEXT_WANTED
    let [from, to] = [near, end]
    for (let round = 0; ; round += 1) {
      const edges = round === 0 ? growing(from, to) : even(from, to)
      const bars = await this.#count(edges)
      let sum = 0
      const at = bars.findIndex((count) => (sum += count) >= wanted)
      const [start, stop] = [edges[at], edges[at + 1]]
      if (start === undefined || stop === undefined) return [near, to]
      if (sum <= wanted * TIMES_WANTED) return [near, stop]
      // What lies before that bar is short of a page, and enough for a window.
      if (sum > (bars[at] ?? 0)) return [near, start]
      if (Math.abs(stop - start) <= 1) return start === near ? [start, stop] : [near, start]
      ;[from, to] = [start, stop]
    }
  }

  /** How many wait between each two edges, the nearest first. */
  async #count(edges: readonly number[]): Promise<readonly number[]> {
    const { topic } = this.#asked
    this.#calls += 1
    const { counts, ...gap } = await this.#store.forecast({
      edges: edges.toSorted((a, b) => a - b),
      ...(topic === undefined ? {} : { topic }),
    })
    this.#gaps.note(gap)
    return this.#isRising ? counts : counts.toReversed()
  }

  /** What waits in [from, until). Undefined: too many to be sorted. */
  async #list(from: number, until: number): Promise<readonly StoredMessage[] | undefined> {
    const items: StoredMessage[] = []
    for (const state of ['ready', 'delayed'] as const) {
      const isThere = state === 'ready' ? from <= this.#now : until > this.#now
      if (!isThere || !this.#isAsked(state)) continue
      const found = await this.#gather({ state, dueFrom: from, dueUntil: until })
      if (found.cursor !== undefined) return undefined
      items.push(...found.items)
    }
    return items
  }

  /** As many as can be sorted together. `cursor`: there are more. */
  async #gather(about: ListOptions, begin?: string): Promise<Pick<Page, 'items' | 'cursor'>> {
    const items: StoredMessage[] = []
    let cursor = begin
    do {
      const page = await this.#page(about, cursor, PAGE)
      items.push(...page.items)
      cursor = page.cursor
    } while (cursor !== undefined && items.length < GATHERED_MAX && this.#calls < CALLS_MAX)
    return { items, ...(cursor === undefined ? {} : { cursor }) }
  }

  async #page(about: ListOptions, cursor: string | undefined, limit: number): Promise<Page> {
    this.#calls += 1
    const { dueUntil = Infinity, ...rest } = { ...this.#asked, ...about, limit: Math.min(limit, PAGE) }
    const asked = Number(dueUntil) < this.#latest ? { ...rest, dueUntil } : rest
    const page = await listStored(
      this.#store,
      parseList(cursor === undefined ? asked : { ...asked, cursor }, this.#now),
    )
    this.#scanned += page.scanned
    this.#gaps.note(page)
    return page
  }

  /** In order, without what was shown before. */
  #sorted(items: readonly StoredMessage[], { at, id }: DuePlace): StoredMessage[] {
    const sign = this.#isRising ? 1 : -1
    const isLeft = (item: StoredMessage): boolean =>
      at === undefined || id === '' || sign * compare(momentOf(item), item.id, at, id) > 0
    return items.filter(isLeft).toSorted((a, b) => sign * compare(momentOf(a), a.id, momentOf(b), b.id))
  }

  /** Takes what fits on the page; answers the last that did, if not all did. */
  #take(items: readonly StoredMessage[]): StoredMessage | undefined {
    const taken = items.slice(0, this.#limit - this.#items.length)
    this.#items.push(...taken)
    return taken.length < items.length ? taken.at(-1) : undefined
  }
}

/** A dead one is looked for by when it died. */
function momentOf({ state, dueAt, until }: StoredMessage): number {
  return state === 'dead' ? until : dueAt
}

function compare(at: number, id: string, otherAt: number, otherId: string): number {
  return at - otherAt || (id < otherId ? -1 : id > otherId ? 1 : 0)
}

const OCTAVES = 41
const EVEN_BARS = 100

/** Edges that lie close together at the near end, and ever farther apart: the next minutes and the next years. */
function growing(near: number, end: number): number[] {
  const length = end - near
  const edges = Array.from({ length: OCTAVES }, (_, i) => near + Math.trunc(length / 2 ** (OCTAVES - i)))
  return [...new Set([near, ...edges, end])]
}

function even(from: number, to: number): number[] {
  const edges = Array.from(
    { length: EVEN_BARS + 1 },
    (_, i) => from + Math.trunc(((to - from) * i) / EVEN_BARS),
  )
  return [...new Set(edges)]
}

const MAYBE_MOMENT = /^(?:-?\d{1,16})?$/
const ANY = /^/
const PATTERNS = [
  /^-?due$/,
  new RegExp(`^(?:${SECTIONS.join('|')})$`),
  MAYBE_MOMENT,
  ANY,
  MAYBE_MOMENT,
  /^(?:delayed|ready)?$/,
  ANY,
]

function cursorOf({ section, at, id, far, state, inner }: DuePlace, order: DueOrder): string {
  return encodeCursor([order, section, String(at ?? ''), id, String(far ?? ''), state ?? '', inner ?? ''])
}

function parsePlace(cursor: string, order: DueOrder): DuePlace {
  const [, section, at = '', id = '', far = '', state = '', inner = ''] = decodeCursor(cursor, [
    new RegExp(`^${order}$`),
    ...PATTERNS.slice(1),
  ])
  return {
    section: section as DueSection,
    id,
    ...(at === '' ? {} : { at: Number(at) }),
    ...(far === '' ? {} : { far: Number(far) }),
    ...(state === '' ? {} : { state: state as 'delayed' | 'ready' }),
    ...(inner === '' ? {} : { inner }),
  }
}
