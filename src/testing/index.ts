/** `punctual/testing`: time under your control, stores that fail on demand, and the suite for engine authors. */
export { VirtualClock } from './virtual-clock.ts'
export { FaultyStore } from './faulty-store.ts'
export type { Fate, Fault, StoreVerb } from './faulty-store.ts'
export { SeededRandom } from './seeded-random.ts'
export { takeCensus } from './census.ts'
export type { Census } from './census.ts'
export { conformance, CONFORMANCE_TESTS } from './conformance/index.ts'
export type { ConformanceSubject, ConformanceTest, OpenSubject, Runner } from './conformance/index.ts'
