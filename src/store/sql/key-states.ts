/** How a key stands, worked out from its rows by the code that all engines share. */
import { Meter, type Allowance } from '../../core/controls.ts'
import { isSerial, termsOf, type KeyLimit } from '../../core/keys.ts'
import type { KeyState } from '../contract/store.ts'
import { toMs } from './micros.ts'

export type KeyRow = {
  readonly now_at: number
  readonly key: string
  readonly waiting: number
  readonly running: number
  /** By priority: of its first message, and of its turn. */
  readonly dues: readonly (number | null)[]
  readonly served: readonly (number | null)[]
  /** Up to when its rate is used. */
  readonly used_until: number | null
  /** The message that holds it where it is serial. */
  readonly held_id: string | null
  readonly held_rank: number | null
  readonly held_at: number | null
  readonly has_limit: boolean | null
} & KeyLimitColumns

export type KeyLimitColumns = {
  readonly weight: number | null
  readonly concurrency: number | null
  readonly interval_ms: number | null
  readonly burst: number | null
}

export function toKeyState(row: KeyRow, perKey: Allowance | undefined): KeyState {
  const { key, waiting, running } = row
  const limit = row.has_limit === true ? limitOf(row) : undefined
  const terms = termsOf(perKey, limit)
  const now = toMs(row.now_at)
  const rateAt =
    terms.rate === undefined ? 0 : Math.ceil(new Meter(terms.rate, toMs(row.used_until ?? 0), now).againAt)
  const held =
    isSerial(terms) && row.held_id !== null && row.held_at !== null
      ? { id: row.held_id, dueAt: toMs(row.held_at) }
      : undefined
  const dues =
    held === undefined ? row.dues : row.dues.map((_, rank) => (rank === row.held_rank ? row.held_at : null))
  const turns = dues.flatMap((due, rank) =>
    due === null ? [] : Math.max(toMs(due), toMs(row.served[rank] ?? 0), rateAt),
  )
  const hasTurn = turns.length > 0 && running < (terms.concurrency ?? Infinity)
  return {
    key,
    waiting,
    running,
    ...(hasTurn ? { turnAt: Math.min(...turns) } : {}),
    ...(rateAt > now ? { rateAt } : {}),
    ...(held === undefined ? {} : { held }),
    ...(limit === undefined ? {} : { limit }),
  }
}

export function limitOf({ weight, concurrency, interval_ms: intervalMs, burst }: KeyLimitColumns): KeyLimit {
  return {
    ...(weight === null ? {} : { weight }),
    ...(concurrency === null ? {} : { concurrency }),
    ...(intervalMs === null || burst === null ? {} : { rate: { intervalMs, burst } }),
  }
}

/** Weight, concurrency, milliseconds between two starts, burst: as `limitOf` reads them. */
export function limitColumns({ weight, concurrency, rate }: KeyLimit): readonly (number | null)[] {
  return [weight ?? null, concurrency ?? null, rate?.intervalMs ?? null, rate?.burst ?? null]
}
