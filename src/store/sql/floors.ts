/**
 * Where to begin to look for what is due, by topic. Index entries of messages that are gone stay until a vacuum, and as
 * long as any transaction in the database is older than they are. A claim that begins at the start steps over all of them.
 *
 *   gone gone gone gone gone gone │ waiting waiting waiting
 *                    floor ▲ two seconds before the first one that we saw
 *
 * Beginning later is a bet: what is put below the floor is overlooked. A call that puts it there rings, and the floor falls;
 * if the ring is lost, the floor falls by itself soon after. So we bet only while it pays: when the last look from the
 * start was slow.
 */
const SLOW_MICROS = 2_000
/** No longer than this without a look from the start: well below the fallback interval. */
const KEPT_MS = 2_500
const MARGIN_MICROS = 2_000_000
const TOPICS_MAX = 10_000

type Floor = { at: number; readonly setAt: number }

export type Heads = {
  readonly topics: readonly string[]
  readonly floors: readonly number[]
  /** The first moment of each topic, if any. */
  readonly heads: readonly (number | null)[]
  readonly now: number
  /** What the look at the heads took. */
  readonly tookMicros: number
  readonly monotonicMs: number
}

export class Floors {
  readonly #floors = new Map<string, Floor>()

  /** For each topic, in microseconds; 0 is the start. */
  of(topics: readonly string[], monotonicMs: number): number[] {
    return topics.map((topic) => {
      const floor = this.#floors.get(topic)
      if (floor === undefined) return 0
      if (monotonicMs - floor.setAt < KEPT_MS) return floor.at
      this.#floors.delete(topic)
      return 0
    })
  }

  learn({ topics, floors, heads, now, tookMicros, monotonicMs }: Heads): void {
    const isSlow = tookMicros > SLOW_MICROS * Math.max(1, topics.length / 10)
    if (this.#floors.size > TOPICS_MAX) this.#floors.clear()
    for (const [i, topic] of topics.entries()) {
      const at = Math.min(heads[i] ?? now, now) - MARGIN_MICROS
      const known = this.#floors.get(topic)
      if (known !== undefined) known.at = Math.max(known.at, at)
      else if (isSlow && floors[i] === 0 && at > 0) this.#floors.set(topic, { at, setAt: monotonicMs })
    }
  }

  /** Something was put at this moment, in these topics; none means any. Undefined: at an unknown moment. */
  lower(at: number | undefined, topics: readonly string[]): void {
    if (topics.length === 0) {
      for (const [topic, floor] of this.#floors)
        if (at === undefined || at < floor.at) this.#floors.delete(topic)
      return
    }
    for (const topic of topics) {
      const floor = this.#floors.get(topic)
      if (floor !== undefined && (at === undefined || at < floor.at)) this.#floors.delete(topic)
    }
  }

  reset(): void {
    this.#floors.clear()
  }
}
