/**
 * The conformance suite: the store contract in executable form, one test per promise and case. It brings no test
 * runner; hand it yours:
 *
 *   import { describe, it } from 'vitest'
 *   import { conformance } from 'punctual/testing'
 *   conformance('my engine', openMyStoreOnAnEmptyQueue, { describe, it })
 */
import { byteTests } from './bytes.ts'
import { cancellingTests } from './cancelling.ts'
import { claimTests } from './claims.ts'
import { controlWakeTests } from './control-wakes.ts'
import { controlTests } from './control.ts'
import { figureTests } from './figures.ts'
import { followUpTests } from './follow-ups.ts'
import { inspectionTests } from './inspection.ts'
import { lapseTests } from './lapses.ts'
import { keyLimitTests } from './key-limits.ts'
import { keyLookingTests } from './key-looking.ts'
import { keyTests } from './keys.ts'
import { leaseTests } from './leases.ts'
import { limitTests } from './limits.ts'
import { listTests } from './lists.ts'
import { orderTests } from './order.ts'
import { ownerTests } from './owners.ts'
import { pauseTests } from './pauses.ts'
import { rememberTests } from './remember.ts'
import { restoringTests } from './restoring.ts'
import type { OpenSubject } from './stand.ts'
import { stateTests } from './states.ts'
import { storageTests } from './storage.ts'
import { successorTests } from './successors.ts'
import { tagTests } from './tags.ts'
import { featureTests, type ConformanceTest } from './test.ts'
import { wakeTests } from './wakes.ts'
import { workerTests } from './workers.ts'

export type { ConformanceSubject, OpenSubject } from './stand.ts'
export type { ConformanceTest } from './test.ts'

export type Runner = {
  readonly describe: (name: string, body: () => void) => void
  readonly it: (name: string, body: () => Promise<void>) => void
}

export const CONFORMANCE_TESTS: readonly ConformanceTest[] = [
  ...storageTests,
  ...stateTests,
  ...leaseTests,
  ...orderTests,
  ...wakeTests,
  ...inspectionTests,
  ...claimTests,
  ...byteTests,
  ...ownerTests,
  ...lapseTests,
  ...listTests,
  ...figureTests,
  ...workerTests,
  ...tagTests,
  ...rememberTests,
  ...successorTests,
  ...cancellingTests,
  ...followUpTests,
  ...controlTests,
  ...featureTests,
  ...pauseTests,
  ...limitTests,
  ...controlWakeTests,
  ...restoringTests,
  ...keyTests,
  ...keyLimitTests,
  ...keyLookingTests,
]

export function conformance(engine: string, open: OpenSubject, { describe, it }: Runner): void {
  describe(`conformance: ${engine}`, () => {
    for (const test of CONFORMANCE_TESTS) {
      it(test.name, async () => {
        const subject = await open()
        try {
          await test.run(subject)
        } finally {
          await subject.close()
        }
      })
    }
  })
}
