/** The fence of a lease, as SQL engines keep it: a number of 63 bits. */
import type { Random } from '../../random.ts'

/** What is no token of ours fits no lease. */
export function tokenColumn(token: string): string | null {
  return /^\d{1,19}$/.test(token) && BigInt(token) < 2n ** 63n ? token : null
}

/**
 * 63 random bits, new for each claim. Not a sequence: a failover to a standby that lags sets sequences back, and with
 * them the fence.
 */
export function makeToken(random: Random): string {
  const high = BigInt(Math.floor(random.next() * 2 ** 32))
  const low = BigInt(Math.floor(random.next() * 2 ** 31))
  return String((high << 31n) | low | 1n)
}
