/** How a case is written: for every engine, or for engines that offer a feature. */
import assert from 'node:assert/strict'
import type { Feature, Store } from '../../store/contract/store.ts'
import type { ConformanceSubject } from './stand.ts'

export type ConformanceTest = {
  /** Begins with the promise it proves: "P4: ...". */
  readonly name: string
  readonly run: (subject: ConformanceSubject) => Promise<void>
}

type ConformanceRun = ConformanceTest['run']

export function test(name: string, run: ConformanceRun): ConformanceTest {
  return { name, run }
}

/** Verbs that an engine without the feature refuses. */
const VERBS_OF: Readonly<Record<Feature, readonly ((store: Store) => Promise<unknown>)[]>> = {
  owners: [(store) => store.owned('nobody')],
  workers: [(store) => store.workers(), (store) => store.leave('nobody')],
  forecast: [(store) => store.forecast({ edges: [0, 1] })],
  figures: [(store) => store.record([]), (store) => store.figures({ from: 0, until: 1 })],
  controls: [(store) => store.controls(), (store) => store.control({ kind: 'pause', topic: 'nothing' })],
  backup: [(store) => store.backup('nowhere')],
}

export function has(store: Store, feature: Feature): boolean {
  return store.capabilities.features.includes(feature)
}

/** Where the feature is absent, the case is that its verbs are refused with UNSUPPORTED. */
export function testWith(feature: Feature, name: string, run: ConformanceRun): ConformanceTest {
  return test(name, async (subject) => {
    if (has(subject.store, feature)) return run(subject)
    for (const verb of VERBS_OF[feature])
      await assert.rejects(verb(subject.store), { code: 'UNSUPPORTED' }, `no ${feature}: the verb is refused`)
  })
}
