/** Reading queues of other packages: their lists and sorted sets a page at a time, and only what is asked for. */
import type { QueuesContext } from '../../engine.ts'
import { linkTo, type ServerLink } from '../open.ts'

const PAGE = 200
/** So many keys are looked at for the names of queues, and so many names are found. */
const SCAN_PAGE = 1_000
const SCANS_MAX = 1_000
const NAMES_MAX = 100

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

  async isMember(name: string, member: string): Promise<boolean> {
    return (await this.#call<unknown>('ZSCORE', name, member)) !== null
  }

  /** The members of a list that is worked off from its end, those first that are next. */
  async *list(name: string): AsyncGenerator<readonly string[]> {
    for (let from = 0; ; from += PAGE) {
      const page = await this.#call<string[]>('LRANGE', name, String(-from - PAGE), String(-from - 1))
      if (page.length > 0) yield page.toReversed()
      if (page.length < PAGE) return
    }
  }

  /** The members of a sorted set with their scores, least first. */
  async *sorted(name: string): AsyncGenerator<readonly (readonly [member: string, score: number])[]> {
    for (let from = 0; ; from += PAGE) {
      const range = [String(from), String(from + PAGE - 1)]
      const flat = (await this.#call<unknown[]>('ZRANGE', name, ...range, 'WITHSCORES')).flat()
      const page = Array.from({ length: flat.length / 2 }, (_, index) => {
        return [String(flat[2 * index]), Number(flat[2 * index + 1])] as const
      })
      if (page.length > 0) yield page
      if (page.length < PAGE) return
    }
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
