/**
 * What changes on one queue, told to all who listen. The store is read once a second while at least one listens, and not
 * at all while none does, whatever their number: a listener is told what the one reading found.
 *
 *   second   0      1      2      3      4      5
 *   reading  full   count  count  count  count  full …     each ──changed?──► one text ──► every listener
 *            └─ beat                            └─ beat
 *
 * A count is one call of the store: how many are in which state, and what is due next. A full reading is about four:
 * topics, what ended lately, pauses and limits. It is also made in the second after an action. The beat says that whatever
 * else a page shows is worth asking for again: because all pages ask in the same moment, `answers` asks the store once.
 *
 * Events that happen once (an action of an operator, the progress of a bulk job) have ids, and the last hundred are kept:
 * a listener that comes back says which it had, and hears the rest.
 */
import { sleep, type Clock } from '../../../clock.ts'
import type { Stats } from '../../../index.ts'
import { problemOf } from '../wire/problem.ts'

const READ_MS = 1_000
const FULL_EVERY = 5
const KEPT = 100

export type LiveListener = (text: string) => void
/** What happens once. */
export type LiveNote = 'bulk' | 'audit'

/** What is read: everything, and, between two such readings, as much of it as costs next to nothing. */
export type LiveSource = {
  readonly read: () => Promise<Stats>
  readonly recount: (known: Stats) => Promise<Stats>
}

type KeptEvent = { readonly number: number; readonly text: string }

export class Live {
  readonly #clock: Clock
  readonly #source: LiveSource
  readonly #listeners = new Set<LiveListener>()
  /** By event: what was told last. */
  readonly #newest = new Map<string, string>()
  readonly #kept: KeptEvent[] = []
  readonly #boot: string
  #count = 0
  #reading: AbortController | undefined
  #awaySince: number | undefined
  /** What the last full reading found, with the newest count. */
  #known: Stats | undefined
  /** An operator did something: the next reading is a full one. */
  #isChanged = false

  constructor(clock: Clock, source: LiveSource) {
    this.#clock = clock
    this.#source = source
    this.#boot = Math.floor(clock.now()).toString(36)
  }

  /** `lastId`: of the event that the listener heard last, if it was here before. Returns how to leave. */
  listen(listener: LiveListener, lastId: string | undefined): () => void {
    for (const text of this.#newest.values()) listener(text)
    for (const text of this.#missedSince(lastId)) listener(text)
    this.#listeners.add(listener)
    if (this.#reading === undefined) this.#begin()
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size === 0) this.#end()
    }
  }

  /** Something happened once. */
  note(event: LiveNote, data: unknown): void {
    this.#count += 1
    this.#isChanged = true
    const text = formatEvent(event, data, `${this.#boot}-${this.#count}`)
    this.#kept.push({ number: this.#count, text })
    if (this.#kept.length > KEPT) this.#kept.shift()
    this.#send(text)
  }

  /** No one listens. */
  get isIdle(): boolean {
    return this.#listeners.size === 0
  }

  /** The server stops. */
  stop(): void {
    this.#send(formatEvent('stopping', {}))
    this.#end()
  }

  #missedSince(lastId: string | undefined): readonly string[] {
    const [boot, number = ''] = lastId?.split('-') ?? []
    if (boot !== this.#boot) return []
    return this.#kept.filter((event) => event.number > Number(number)).map(({ text }) => text)
  }

  #send(text: string): void {
    for (const listener of this.#listeners) listener(text)
  }

  #begin(): void {
    this.#reading = new AbortController()
    void this.#read(this.#reading.signal)
  }

  #end(): void {
    this.#reading?.abort()
    this.#reading = undefined
    this.#newest.clear() // It is no longer kept fresh.
    this.#known = undefined
  }

  async #read(signal: AbortSignal): Promise<void> {
    for (let round = 0; !signal.aborted; round += 1) {
      const isBeat = round % FULL_EVERY === 0
      try {
        const known = isBeat || this.#isChanged ? undefined : this.#known
        this.#isChanged = false
        const stats = known === undefined ? await this.#source.read() : await this.#source.recount(known)
        if (signal.aborted) return
        this.#tell(stats, { isFull: known === undefined, isBeat })
      } catch (error) {
        if (!signal.aborted) this.#tellAway(error)
      }
      await sleep(this.#clock, READ_MS, signal)
    }
  }

  #tell(stats: Stats, { isFull, isBeat }: { isFull: boolean; isBeat: boolean }): void {
    const isFirst = this.#known === undefined // The first listener asks just now.
    this.#known = stats
    const { topics, moreTopics, overdue, ...totals } = stats
    const now = Math.floor(this.#clock.now())
    if (this.#awaySince !== undefined) this.#send(formatEvent('back', { now }))
    this.#awaySince = undefined
    this.#tellState('stats', { now, ...totals }, isBeat)
    if (isFull) this.#tellState('topics', { now, topics, moreTopics, overdue }, false)
    if (isBeat && !isFirst) this.#send(formatEvent('beat', { now }))
  }

  /** Unless all but the time is as it was. */
  #tellState(event: string, data: Readonly<Record<string, unknown>>, isRepeated: boolean): void {
    const text = formatEvent(event, data)
    const before = this.#newest.get(event)
    this.#newest.set(event, text)
    if (isRepeated || before === undefined || withoutNow(before) !== withoutNow(text)) this.#send(text)
  }

  #tellAway(error: unknown): void {
    this.#awaySince ??= Math.floor(this.#clock.now())
    const { code, detail } = problemOf(error)
    this.#send(formatEvent('away', { since: this.#awaySince, code, detail }))
  }
}

function withoutNow(text: string): string {
  return text.replace(/"now":\d+/, '')
}

/** JSON has no line breaks, so that one line is enough. */
export function formatEvent(event: string, data: unknown, id?: string): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
}
