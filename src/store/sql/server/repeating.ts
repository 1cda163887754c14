/** A deadlock, a conflict, or a lock that did not come in time rolled a call back whole: it is sent again, a few times. */
import type { Clock } from '../../../clock.ts'
import type { Random } from '../../../random.ts'
import type { SqlRefusals } from './refusals.ts'

const PAUSE_MS = 20

export type RepeatingOptions = {
  readonly refusals: SqlRefusals
  readonly triesMax: number
  /** As messages name it. */
  readonly server: string
  readonly clock: Clock
  readonly random: Random
}

export async function repeating<R>(
  call: () => Promise<R>,
  { refusals, triesMax, server, clock, random }: RepeatingOptions,
): Promise<R> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await call()
    } catch (error) {
      if (refusals.isMissing(error)) throw refusals.toError(error, server)
      if (!refusals.isRepeatable(error)) throw error
      if (tries === triesMax) throw refusals.toError(error, server)
    }
    await new Promise<void>((resolve) => clock.schedule(PAUSE_MS * tries * random.next(), resolve))
  }
}
