/**
 * A schedule as its user understands it: a list of edits, and the moments that are owed between them. It shares no code
 * with what it judges; its rhythms are whole seconds.
 */
export const RHYTHMS = {
  a: { cron: '*/3 * * * * *' },
  b: { cron: '1-59/5 * * * * *' },
  minute: { cron: '0 * * * * *' },
} as const
export type Rhythm = keyof typeof RHYTHMS
const SECONDS: Readonly<Record<Rhythm, (second: number) => boolean>> = {
  a: (second) => second % 3 === 0,
  b: (second) => second % 5 === 1,
  minute: (second) => second === 0,
}

export type Edit =
  | { readonly kind: 'set'; readonly rhythm: Rhythm; readonly payload: number }
  | { readonly kind: 'remove' | 'pause' | 'resume' }
  | { readonly kind: 'pause topic' | 'resume topic' }

type Life = { readonly rhythm: Rhythm; readonly isPaused: boolean; readonly from: number }

/** Moments of whole seconds, in epoch milliseconds. */
export class ScheduleModel {
  #life: Life | undefined
  readonly owed: number[] = []
  /** Since it was made. */
  skipped: number[] = []
  owedOfLife: number[] = []
  /** Whether its rhythm changed since it was made: what the one before had placed is skipped besides. */
  hasChanged = false

  edit(edit: Edit, now: number): void {
    this.#until(now)
    const life = this.#life
    switch (edit.kind) {
      case 'set':
        if (life === undefined) [this.skipped, this.owedOfLife, this.hasChanged] = [[], [], false]
        else this.hasChanged ||= life.rhythm !== edit.rhythm
        this.#life = { rhythm: edit.rhythm, isPaused: life?.isPaused ?? false, from: now }
        break
      case 'remove':
        this.#life = undefined
        break
      case 'pause':
      case 'resume':
        if (life !== undefined) this.#life = { ...life, isPaused: edit.kind === 'pause' }
        break
      case 'pause topic':
      case 'resume topic':
    }
  }

  end(now: number): void {
    this.#until(now)
  }

  #until(now: number): void {
    if (this.#life === undefined) return
    const { rhythm, isPaused, from } = this.#life
    for (let at = Math.floor(from / 1_000) * 1_000 + 1_000; at <= now; at += 1_000)
      if (SECONDS[rhythm]((at / 1_000) % 60))
        for (const list of isPaused ? [this.skipped] : [this.owed, this.owedOfLife]) list.push(at)
    this.#life = { ...this.#life, from: now }
  }
}
