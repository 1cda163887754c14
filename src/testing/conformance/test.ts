/** How a case is written, and the cases of what an engine lacks. */
import assert from 'node:assert/strict'
import type { Feature, Store } from '../../store/contract/store.ts'
import { message, type ConformanceSubject } from './stand.ts'

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
  controls: [(store) => store.controls(), (store) => store.control({ kind: 'pause', topic: 'nothing' })],
  limits: [
    (store) => store.control({ kind: 'limit', topic: 'nothing', limit: { concurrency: 1 } }),
    (store) =>
      store.control({ kind: 'resume', topic: 'nothing', over: { intervalMs: 1000, burst: 1, ms: 60_000 } }),
  ],
  backup: [(store) => store.backup('nowhere')],
  transactions: [(store) => store.join({ query: async () => [] })],
  keys: [
    (store) => store.keys({ topic: 'nothing', limit: 1 }),
    (store) => store.put([message('a', { key: 'k' })]),
    (store) => store.control({ kind: 'limit', topic: 'nothing', limit: { perKey: { concurrency: 1 } } }),
    (store) => store.control({ kind: 'limit', topic: 'nothing', key: 'k', limit: { weight: 2 } }),
  ],
}

export const featureTests: readonly ConformanceTest[] = Object.entries(VERBS_OF).map(([feature, verbs]) =>
  test(`what an engine lacks it refuses with UNSUPPORTED: ${feature}`, async ({ store }) => {
    if (store.capabilities.features.includes(feature as Feature)) return
    for (const verb of verbs) await assert.rejects(verb(store), { code: 'UNSUPPORTED' })
  }),
)
