/** Asking several partitions at once, each for itself, and what becomes of those that do not answer. */
import { UnavailableError, isUnavailable } from '../../core/errors.ts'
import type { Store } from '../contract/store.ts'

/** What was answered, and the failures of the others. */
export type PartitionAnswers<T> = { readonly given: readonly T[]; readonly failed: readonly FailedAnswer[] }
export type FailedAnswer = { readonly partition: number; readonly error: unknown }

/** Rejects only where the fault is not that a partition is away: that is the same everywhere. */
export async function askAll<T>(
  stores: readonly Store[],
  ask: (store: Store, partition: number) => Promise<T>,
): Promise<PartitionAnswers<T>> {
  const settled = await Promise.allSettled(stores.map(ask))
  const given: T[] = []
  const failed: FailedAnswer[] = []
  for (const [partition, answer] of settled.entries()) {
    if (answer.status === 'fulfilled') given.push(answer.value)
    else if (isUnavailable(answer.reason)) failed.push({ partition, error: answer.reason })
    else throw answer.reason
  }
  return { given, failed }
}

/** Entries that belong to several partitions, and their answers in the order of the entries. */
export async function askHomes<E, R>(
  entries: readonly E[],
  homeOf: (entry: E) => number,
  ask: (partition: number, entries: readonly E[]) => Promise<readonly R[]>,
  idOf: (entry: E) => string,
): Promise<R[]> {
  const groups = new Map<number, number[]>()
  for (const [i, entry] of entries.entries()) {
    const home = homeOf(entry)
    const group = groups.get(home)
    if (group === undefined) groups.set(home, [i])
    else group.push(i)
  }
  const results: R[] = []
  const failed: { readonly places: readonly number[]; readonly error: unknown }[] = []
  await Promise.all(
    [...groups].map(async ([home, places]) => {
      try {
        const its = await ask(
          home,
          places.map((place) => entries[place] as E),
        )
        for (const [i, place] of places.entries()) results[place] = its[i] as R
      } catch (error) {
        failed.push({ places, error })
      }
    }),
  )
  const [first] = failed
  if (first === undefined) return results
  const lasting = failed.find(({ error }) => !isUnavailable(error))
  if (lasting !== undefined) throw lasting.error
  if (failed.length === groups.size) throw first.error
  throw partlyDone(
    failed.flatMap(({ places }) => places.map((place) => idOf(entries[place] as E))),
    entries.length,
    first.error,
  )
}

const IDS_SHOWN = 5

/** `ids`: of those about which nothing is known. */
export function partlyDone(ids: readonly string[], total: number, cause: unknown): UnavailableError {
  const shown = ids.slice(0, IDS_SHOWN).map((id) => `"${id}"`)
  const list = ids.length > IDS_SHOWN ? `${shown.join(', ')} and others` : shown.join(', ')
  return new UnavailableError(
    'STORE_PARTIAL',
    `for ${ids.length} of ${total} messages the store did not answer (${list}); the others are done. Try those again, by the ids in "value". ${textOf(cause)}`,
    { value: ids, cause },
  )
}

export function textOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}
