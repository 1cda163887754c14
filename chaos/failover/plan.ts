/** What happens in a round: drawn from a seed, so that a run can be asked for again. Processes and networks keep their own time. */
import { SeededRandom } from '../../src/testing/seeded-random.ts'

/**
 *   crash   the primary is killed
 *   stall   its replicas hear nothing for a while, then it is killed
 *   split   sentinels and replicas lose sight of it, while clients still reach it; later it is found again
 */
export type Trouble = 'crash' | 'stall' | 'split'

export type Plan = {
  readonly trouble: Trouble
  /** How long the load runs before. */
  readonly calmMs: number
  /** How long replication stands still before the primary is killed. */
  readonly stallMs: number
}

const TROUBLES: readonly Trouble[] = ['crash', 'stall', 'split']

export function planRounds(seed: number, rounds: number, troubles: readonly Trouble[] = TROUBLES): Plan[] {
  const random = new SeededRandom(seed)
  return Array.from({ length: rounds }, (_, round) => ({
    // Each in turn, so that few rounds have all of them.
    trouble: troubles[(round + (seed % troubles.length)) % troubles.length] as Trouble,
    calmMs: 200 + random.next() * 600,
    stallMs: 150 + random.next() * 400,
  }))
}
