/**
 * A soak: does anything grow? For each process and for the store, the median of the first third after the warm-up is
 * compared with that of the last third. A process that was restarted counts as a new one, and is judged if it lived long
 * enough; those that are never killed always do.
 */
import type { Finding } from './audit.ts'
import type { SampleLine } from './lines.ts'
import type { Stories } from './stories.ts'

const MIB = 1024 * 1024
/** Too little to tell growth from noise. */
const JUDGED_FROM_MS = 240_000
const WARM_UP_SHARE = 0.2

type Bound = { readonly factor: number; readonly plus: number }

/** What the last third may have: `factor` times the first, and `plus`. */
export const BOUNDS: Readonly<Record<string, Bound>> = {
  memory: { factor: 1.25, plus: 16 * MIB },
  heap: { factor: 1.2, plus: 4 * MIB },
  files: { factor: 1, plus: 6 },
  handles: { factor: 1, plus: 30 },
  keys: { factor: 1, plus: 10 },
  serverMemory: { factor: 1.25, plus: 2 * MIB },
  clients: { factor: 1, plus: 10 },
  // A process frozen in the middle of a read keeps all pages freed meanwhile, some MiB for each second; the file keeps that
  // size. What keeps them for good fills this within a minute.
  disk: { factor: 1, plus: 64 * MIB },
}

export type Growth = {
  readonly who: string
  readonly what: string
  readonly first: number
  readonly last: number
  readonly isFlat: boolean
}

export function measureGrowth({ processes }: Stories): Growth[] {
  return [...processes].flatMap(([who, { samples }]) => {
    const [oldest, newest] = [samples[0], samples.at(-1)]
    if (oldest === undefined || newest === undefined || newest.at - oldest.at < JUDGED_FROM_MS) return []
    return Object.entries(BOUNDS).flatMap(([what, bound]) => compare(who, what, bound, samples))
  })
}

function compare(who: string, what: string, bound: Bound, samples: readonly SampleLine[]): Growth[] {
  const values = samples.map((sample) => sample[what]).filter((value) => typeof value === 'number')
  const steady = values.slice(Math.floor(values.length * WARM_UP_SHARE))
  const third = Math.floor(steady.length / 3)
  if (third < 5) return []
  const [first, last] = [median(steady.slice(0, third)), median(steady.slice(-third))]
  return [{ who, what, first, last, isFlat: last <= first * bound.factor + bound.plus }]
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? 0
}

export function judgeGrowth(growths: readonly Growth[]): Finding[] {
  return growths
    .filter(({ isFlat }) => !isFlat)
    .map(({ who, what, first, last }) => ({
      promise: 'soak',
      what: `${who}: ${what} grew from ${first} to ${last}`,
      about: who,
    }))
}
