/**
 * The order of the files of a run: what takes longest begins first, so that no worker ends long after the others. What each takes
 * is in `longest.json`, written by `npm test -- --times`; what is not in it is short.
 */
import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const SECONDS = JSON.parse(readFileSync(join(import.meta.dirname, 'longest.json'), 'utf8')) as Readonly<
  Record<string, number>
>

export class LongestFirst extends BaseSequencer {
  override sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return Promise.resolve(files.toSorted((a, b) => secondsOf(b) - secondsOf(a)))
  }
}

function secondsOf({ moduleId, project }: TestSpecification): number {
  return SECONDS[relative(project.config.root, moduleId)] ?? 0
}
