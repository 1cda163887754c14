/** Reading queues of other packages: their lists and sorted sets a page at a time, and only what is asked for. */
import type { QueuesContext } from '../../engine.ts'
import { linkTo, type ServerLink } from '../open.ts'

const PAGE = 200
/** Of a list only ids are read; their jobs a page at a time. */
const LIST_PAGE = 1_000
/** So many members with one score are asked for at once. */
const ONE_SCORE_MAX = 6_400
/** So many keys are looked at for the names of queues, and so many names are found. */
const SCAN_PAGE = 1_000
const SCANS_MAX = 1_000
const NAMES_MAX = 100

type ScoredMember = readonly [member: string, score: number]

export class ForeignKeys {
  readonly #link: ServerLink
  /** What the keys of all queues begin with, and those of this one; the last colon included. */
  readonly #root: string
  readonly #prefix: string

  constructor(
    url: string,
    { prefix, queue }: { readonly prefix: string; readonly queue: string },
    context: QueuesContext,
  ) {
    this.#link = linkTo(url, 'punctual:import', context)
    this.#root = `${prefix}:`
    this.#prefix = `${prefix}:${queue}:`
  }

  close(): void {
    this.#link.close()
  }

  key(name: string): string {
    return this.#prefix + name
  }

  async hasAny(names: readonly string[]): Promise<boolean> {
    const found = await Promise.all(names.map((name) => this.#call<number>('EXISTS', name)))
    return found.some((count) => count > 0)
  }

  /** Of the queues that have a key with this name, in the order of the alphabet. */
  async queuesWith(name: string): Promise<readonly string[]> {
    const found = new Set<string>()
    const pattern = `${this.#root.replaceAll(/[\\*?[\]^]/g, String.raw`\$&`)}*:${name}`
    let cursor = '0'
    for (let scans = 0; scans < SCANS_MAX && found.size < NAMES_MAX; scans += 1) {
      const scan = ['SCAN', cursor, 'MATCH', pattern, 'COUNT', String(SCAN_PAGE)]
      const [next, keys] = (await this.#link.call(scan)) as [string, string[]]
      for (const key of keys) found.add(key.slice(this.#root.length, -name.length - 1))
      cursor = next
      if (cursor === '0') break
    }
    return [...found].toSorted()
  }

  /** Undefined: the sorted set has no such member. */
  async score(name: string, member: string): Promise<number | undefined> {
    const score = await this.#call<unknown>('ZSCORE', name, member)
    return score === null ? undefined : Number(score)
  }

  /**
   * The members of a list that is worked off from its end, those first that are next; each once, and all that stay in it while
   * it is read. It is read from its head, where new ones come in, so that pushing and popping repeat members and skip none. All
   * that lies before a member that was read was read, or is new: a page that begins with an unknown one (others were removed from
   * the middle) is read again from further ahead. The ids of the whole list are held.
   */
  async *list(name: string): AsyncGenerator<readonly string[]> {
    const found = new Set<string>()
    for (let from = 0, back = 1; ;) {
      const page = await this.#call<string[]>('LRANGE', name, String(from), String(from + LIST_PAGE - 1))
      if (from > 0 && (page[0] === undefined || !found.has(page[0]))) {
        from = Math.max(0, from - back)
        back *= 2
        continue
      }
      for (const member of page) found.add(member)
      if (page.length < LIST_PAGE) break
      // The last one is the first of the next page, by which that is known to follow.
      from += page.length - 1
      back = 1
    }
    yield* cutPages([...found].toReversed())
  }

  /**
   * The members of a sorted set with their scores, least first; each once, and all that stay in it with their score while it is
   * read. A page begins with the score that the one before ended with: ranks move when members leave.
   */
  async *sorted(name: string): AsyncGenerator<readonly ScoredMember[]> {
    let min = '-inf'
    let count = PAGE
    let lastScore: number | undefined
    /** Those with that score that were yielded. */
    const known = new Set<string>()
    for (;;) {
      const range = [min, '+inf', 'WITHSCORES', 'LIMIT', '0', String(count)]
      const page = scoredOf(await this.#call<unknown[]>('ZRANGEBYSCORE', name, ...range))
      yield* cutPages(page.filter(([member]) => !known.has(member)))
      const last = page.at(-1)?.[1]
      if (page.length < count || last === undefined) return
      if (last !== lastScore) known.clear()
      lastScore = last
      for (const [member, score] of page) if (score === last) known.add(member)
      min = String(last)
      if (page[0]?.[1] === last && count === ONE_SCORE_MAX) {
        yield* this.#ofScore(name, last, known)
        min = `(${last}`
      }
      count = Math.min(ONE_SCORE_MAX, Math.max(PAGE, 2 * known.size))
    }
  }

  /** Where more members have one score than a call may answer with: those that are not known yet. */
  async *#ofScore(name: string, score: number, known: Set<string>): AsyncGenerator<readonly ScoredMember[]> {
    let cursor = '0'
    do {
      const scan = ['ZSCAN', this.key(name), cursor, 'COUNT', String(SCAN_PAGE)]
      const [next, flat] = (await this.#link.call(scan)) as [string, unknown[]]
      const fresh = scoredOf(flat).filter(([member, at]) => at === score && !known.has(member))
      // ZSCAN may tell a member twice.
      for (const [member] of fresh) known.add(member)
      yield* cutPages(fresh)
      cursor = next
    } while (cursor !== '0')
  }

  /** The fields of a hash; what is not there is ''. */
  async fields<Name extends string>(name: string, fields: readonly Name[]): Promise<Record<Name, string>> {
    const values = await this.#call<(string | null)[]>('HMGET', name, ...fields)
    return Object.fromEntries(fields.map((field, index) => [field, values[index] ?? ''])) as Record<
      Name,
      string
    >
  }

  async values(name: string, fields: readonly string[]): Promise<readonly (string | null)[]> {
    return fields.length === 0 ? [] : this.#call<(string | null)[]>('HMGET', name, ...fields)
  }

  /** How many a list, set or sorted set has; 0 where there is none. */
  async size(name: string): Promise<number> {
    const type = await this.#call<string>('TYPE', name)
    const count = { list: 'LLEN', set: 'SCARD', zset: 'ZCARD' }[type]
    return count === undefined ? 0 : this.#call<number>(count, name)
  }

  async #call<T>(command: string, name: string, ...args: readonly string[]): Promise<T> {
    return (await this.#link.call([command, this.key(name), ...args])) as T
  }
}

function scoredOf(answer: readonly unknown[]): readonly ScoredMember[] {
  const flat = answer.flat()
  return Array.from({ length: flat.length / 2 }, (_, index) => {
    return [String(flat[2 * index]), Number(flat[2 * index + 1])] as const
  })
}

function* cutPages<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let from = 0; from < all.length; from += PAGE) yield all.slice(from, from + PAGE)
}

/** What other people wrote; undefined where it is no JSON object. */
export function readObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null
      ? (value as Readonly<Record<string, unknown>>)
      : undefined
  } catch {
    return undefined
  }
}

export function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** A finite number, from a number or a text; undefined otherwise. */
export function readNumber(value: unknown): number | undefined {
  const number =
    typeof value === 'number' ? value : typeof value === 'string' && value !== '' ? Number(value) : NaN
  return Number.isFinite(number) ? number : undefined
}
