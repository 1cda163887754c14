/** TODO delete: a forecast by paging through everything that waits, for engines that do not count it yet. */
import { UsageError, type DueForecast, type Punctual } from '../../index.ts'
import { allPages } from './pages.ts'

type Paging = {
  readonly signal: AbortSignal
  readonly onProgress: (done: number) => void
  readonly onEnd: () => void
}

export class PagedForecast {
  readonly #queue: Punctual
  readonly #about: { readonly topic?: string }
  readonly #paging: Paging
  #moments: Promise<readonly number[]> | undefined

  constructor(queue: Punctual, about: { readonly topic?: string }, paging: Paging) {
    this.#queue = queue
    this.#about = about
    this.#paging = paging
  }

  async unlessCounted(count: () => Promise<DueForecast>, edges: readonly number[]): Promise<DueForecast> {
    try {
      return await count()
    } catch (error) {
      if (!(error instanceof UsageError && error.code === 'UNSUPPORTED')) throw error
      this.#moments ??= this.#readMoments()
      return sortInto(await this.#moments, edges)
    }
  }

  async #readMoments(): Promise<readonly number[]> {
    const moments: number[] = []
    for (const state of ['ready', 'delayed'] as const) {
      for await (const { items } of allPages(this.#queue, { state, ...this.#about }, this.#paging.signal)) {
        for (const { dueAt } of items) moments.push(dueAt)
        this.#paging.onProgress(moments.length)
      }
    }
    this.#paging.onEnd()
    return moments.toSorted((a, b) => a - b)
  }
}

function sortInto(moments: readonly number[], edges: readonly number[]): DueForecast {
  const counts = edges.map(() => 0)
  let before = 0
  let bar = -1
  for (const moment of moments) {
    while (moment >= (edges[bar + 1] ?? Infinity)) bar += 1
    if (bar === -1) before += 1
    else counts[bar] = (counts[bar] ?? 0) + 1
  }
  const bars = edges.slice(1).map((until, i) => ({ from: edges[i] ?? 0, until, count: counts[i] ?? 0 }))
  return { bars, before, after: counts.at(-1) ?? 0, isExact: true }
}
