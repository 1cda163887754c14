/** Samples gathered under the names of the catalogue. */
import type { Histogram } from './histogram.ts'
import { METRICS, type MetricKind, type MetricName } from './catalogue.ts'

export type MetricLabels = Readonly<Record<string, string>>

/** `buckets`: of a histogram, how many values are at most `le`; the last is Infinity. Then `value` is how many there are. */
export type MetricSample = {
  readonly labels: MetricLabels
  readonly value: number
  readonly sum?: number
  readonly buckets?: readonly { readonly le: number; readonly count: number }[]
}

export type MetricFamily = {
  readonly name: MetricName
  readonly kind: MetricKind
  readonly help: string
  readonly samples: readonly MetricSample[]
}

export class MetricFamilies {
  readonly #samples = new Map<MetricName, MetricSample[]>()

  add(name: MetricName, labels: MetricLabels, value: number): void {
    this.#of(name).push({ labels, value })
  }

  /** Milliseconds become seconds. */
  addHistogram(name: MetricName, labels: MetricLabels, { boundsMs, counts, sumMs }: Histogram): void {
    let count = 0
    const buckets = counts.map((own, i) => {
      count += own
      return { le: (boundsMs[i] ?? Infinity) / 1_000, count }
    })
    this.#of(name).push({ labels, value: count, sum: sumMs / 1_000, buckets })
  }

  /** In the order of the catalogue, without those that have no samples. */
  get all(): readonly MetricFamily[] {
    return (Object.keys(METRICS) as MetricName[]).flatMap((name) => {
      const samples = this.#samples.get(name)
      const { kind, help } = METRICS[name]
      return samples === undefined ? [] : [{ name, kind, help, samples }]
    })
  }

  #of(name: MetricName): MetricSample[] {
    let samples = this.#samples.get(name)
    if (samples === undefined) {
      samples = []
      this.#samples.set(name, samples)
    }
    return samples
  }
}
