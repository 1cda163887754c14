/** The keys of one simulation: which there are, how many of its messages have one, and how often their limits change. */
import type { Chance } from './world/chance.ts'

export type KeyPlan = {
  /** None: messages have no key. The first is that of floods. */
  readonly names: readonly string[]
  /** Of messages that have a key. */
  readonly share: number
  /** Of those, how many are of the first key. */
  readonly flooded: number
  /** Whether each key is allowed one at a time while the storm is recovered from: what holds one then holds it for good. */
  readonly isSerialAfterwards: boolean
}

/** The share of simulations with keys. */
const KEYED = 0.4
const NAMES_MAX = 20

/** Texts that a separator, a pattern, a property or a page might trip over. */
const HOSTILE = [
  '__proto__',
  'constructor',
  '%00{a}',
  '{a}{b}',
  '*?[a-z]',
  "'; drop table message; --",
  '0',
  '-1',
  ' ',
  'ключ',
  '🔑'.repeat(50),
  'k'.repeat(200),
] as const

export const NO_KEYS: KeyPlan = { names: [], share: 0, flooded: 0, isSerialAfterwards: false }

export function drawKeys(chance: Chance): KeyPlan {
  if (!chance.happens(KEYED)) return NO_KEYS
  const count = chance.pick([1, 2, 3, 5, NAMES_MAX])
  const names = Array.from({ length: count }, (_, i) => `customer-${i + 1}`)
  if (chance.happens(0.4)) names.push(...HOSTILE.filter(() => chance.happens(0.3)))
  return {
    names,
    share: chance.pick([0.3, 0.7, 1]),
    flooded: chance.pick([0, 0.3, 0.8]),
    isSerialAfterwards: chance.happens(0.5),
  }
}
