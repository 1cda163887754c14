/**
 * What changes on one queue, told to whoever listens. The store is read once a second while at least one listens, and not
 * at all while none does, whatever their number: a listener is told what the one reading found.
 *
 *   reading ──changed?──► one text ──► every listener
 *
 * Events that happen once (an action of an operator, the progress of a bulk job) have ids, and the last hundred are kept:
 * a listener that comes back says which it had, and hears the rest.
 */
import { sleep, type Clock } from '../../../clock.ts'
import type { Punctual, Stats } from '../../../index.ts'
import { problemOf } from '../wire/problem.ts'

const READ_MS = 1_000
/** Counts by topic are a walk over all topics: less often. */
const TOPICS_EVERY = 5
const REPEAT_EVERY = 5
const KEPT = 100

export type LiveListener = (text: string) => void

type KeptEvent = { readonly number: number; readonly text: string }

export class Live {
  readonly #clock: Clock
  readonly #queue: Punctual
  readonly #listeners = new Set<LiveListener>()
  /** By event: what was told last. */
  readonly #newest = new Map<string, string>()
  readonly #kept: KeptEvent[] = []
  readonly #boot: string
  #count = 0
  #reading: AbortController | undefined
  #awaySince: number | undefined
  /** Of the last reading with all topics: those that are held back, and what ended of each. */
  #held: readonly string[] = []
  #ended: Stats['recent']['topics'] = {}
  /** An operator did something: the next reading is one with all topics. */
  #isChanged = false

  constructor(clock: Clock, queue: Punctual) {
    this.#clock = clock
    this.#queue = queue
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
  note(event: 'bulk' | 'audit', data: unknown): void {
    this.#count += 1
    this.#isChanged = true
    const text = formatEvent(event, data, `${this.#boot}-${this.#count}`)
    this.#kept.push({ number: this.#count, text })
    if (this.#kept.length > KEPT) this.#kept.shift()
    this.#send(text)
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
    this.#newest.clear() // Nobody keeps it fresh any longer.
  }

  async #read(signal: AbortSignal): Promise<void> {
    for (let round = 0; !signal.aborted; round += 1) {
      try {
        const withTopics = this.#isChanged || round % TOPICS_EVERY === 0
        this.#isChanged = false
        const stats = await this.#queue.stats(withTopics ? undefined : { topics: [...this.#held] })
        if (signal.aborted) return
        this.#tell(stats, { withTopics, isRepeated: round % REPEAT_EVERY === 0 })
      } catch (error) {
        if (!signal.aborted) this.#tellAway(error)
      }
      await sleep(this.#clock, READ_MS, signal)
    }
  }

  #tell(stats: Stats, { withTopics, isRepeated }: { withTopics: boolean; isRepeated: boolean }): void {
    const { topics, moreTopics, overdue, recent, ...totals } = stats
    if (withTopics) {
      this.#held = totals.controls.flatMap(({ topic }) => topic ?? [])
      this.#ended = recent.topics
    }
    const now = Math.floor(this.#clock.now())
    if (this.#awaySince !== undefined) this.#send(formatEvent('back', { now }))
    this.#awaySince = undefined
    this.#tellState('stats', { now, ...totals, recent: { ...recent, topics: this.#ended } }, isRepeated)
    if (withTopics) this.#tellState('topics', { now, topics, moreTopics, overdue }, false)
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
function formatEvent(event: string, data: unknown, id?: string): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
}
