/**
 * Chance in a simulation: one seed, many independent streams. Each part draws from a stream of its own name, so that
 * a new draw in one part does not change what all others do.
 */
import { SeededRandom } from '../../src/testing/seeded-random.ts'
import type { Random } from '../../src/random.ts'

export class Chance implements Random {
  readonly #seed: number
  readonly #name: string
  readonly #random: SeededRandom

  constructor(seed: number, name = '') {
    this.#seed = seed
    this.#name = name
    this.#random = new SeededRandom(mix(`${seed}/${name}`))
  }

  stream(name: string): Chance {
    return new Chance(this.#seed, `${this.#name}/${name}`)
  }

  next(): number {
    return this.#random.next()
  }

  happens(probability: number): boolean {
    return this.next() < probability
  }

  /** A whole number from `min` to `max`, both included. */
  whole(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1))
  }

  /** Whole milliseconds from `minMs` to `maxMs`; short ones as likely as long ones. */
  spread(minMs: number, maxMs: number): number {
    const from = Math.log(minMs + 1)
    return Math.floor(Math.exp(from + this.next() * (Math.log(maxMs + 1) - from)) - 1)
  }

  pick<T>(choices: readonly [T, ...T[]]): T
  pick<T>(choices: readonly T[]): T | undefined
  pick<T>(choices: readonly T[]): T | undefined {
    return choices[Math.floor(this.next() * choices.length)]
  }

  /** One of the keys, by its weight. */
  weighted<K extends string>(weights: Readonly<Record<K, number>>): K {
    const entries = Object.entries<number>(weights) as [K, number][]
    let left = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0)
    for (const [key, weight] of entries) {
      left -= weight
      if (left < 0) return key
    }
    return (entries.at(-1) as [K, number])[0]
  }
}

/** FNV-1a: neighbouring seeds and names end up far apart. */
function mix(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash >>> 0
}
