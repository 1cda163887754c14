/** The mistakes that the simulator must catch are edits of the source: one that moved is planted anew with the change that moved it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { MUTANTS } from '../../simulation/mutants.ts'
import { ROOT } from './files.ts'

it('each can be planted: its text occurs exactly once in its file', () => {
  const lost = MUTANTS.filter(
    ({ file, find }) => readFileSync(join(ROOT, file), 'utf8').split(find).length !== 2,
  )
  expect(lost.map(({ name, file }) => `${file}: ${name}`)).toEqual([])
})
