import type { ConformanceSubject } from './bench.ts'

export type ConformanceTest = {
  /** Begins with the promise it proves: "P4: ...". */
  readonly name: string
  readonly run: (subject: ConformanceSubject) => Promise<void>
}

export function test(name: string, run: (subject: ConformanceSubject) => Promise<void>): ConformanceTest {
  return { name, run }
}
