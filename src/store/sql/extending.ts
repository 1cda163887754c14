/**
 * Extensions skip rows that somebody has locked: a handler may complete its message in an open transaction, whose lock protects
 * the lease as well as an extension would. But where the lease has lapsed, the lock may be that of a takeover, which is over
 * soon: such an answer is in doubt, and worth asking for again.
 */
import type { Clock } from '../../clock.ts'
import type { ExtendResult, LeaseRef } from '../contract/store.ts'

/** In doubt: with a question mark behind it. */
export type ExtendWord = ExtendResult | `${ExtendResult}?`

const TRIES = 3
const PAUSE_MS = 20

/** Claims over the same connection do not wait meanwhile. */
export async function extendInDoubt(
  leases: readonly LeaseRef[],
  extend: (leases: readonly LeaseRef[]) => Promise<readonly ExtendWord[]>,
  clock: Clock,
): Promise<ExtendResult[]> {
  const words = [...(await extend(leases))]
  for (let tries = 1; tries <= TRIES && words.some(isDoubtful); tries += 1) {
    await new Promise<void>((resolve) => clock.schedule(PAUSE_MS, resolve))
    const open = [...words.keys()].filter((i) => isDoubtful(words[i] as ExtendWord))
    const again = await extend(open.map((i) => leases[i] as LeaseRef))
    for (const [n, i] of open.entries()) words[i] = again[n] ?? 'lost'
  }
  return words.map((word) =>
    isDoubtful(word) ? (word.slice(0, -1) as ExtendResult) : (word as ExtendResult),
  )
}

function isDoubtful(word: ExtendWord): boolean {
  return word.endsWith('?')
}
