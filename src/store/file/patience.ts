/** Waiting for the disk and for other processes, with an end to it. */
import { systemClock } from '../../clock.ts'

/**
 * True once `work` is settled, false when it takes longer than `ms`. In real time, whatever clock the store was
 * given: locks and disks know no other.
 */
export function endsWithin(ms: number, work: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = systemClock.schedule(ms, () => resolve(false))
    const end = (): void => {
      timer.cancel()
      resolve(true)
    }
    work.then(end, end)
  })
}
