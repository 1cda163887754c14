/** Mistakes that are planted are found. All of them: `npm run simulate -- --mutants`. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { MUTANTS } from '../../simulation/mutants.ts'

describe('mutants', () => {
  it('each can still be planted: its text occurs exactly once', () => {
    const lost = MUTANTS.filter(({ file, find }) => readFileSync(file, 'utf8').split(find).length !== 2)
    expect(lost.map(({ name }) => name)).toEqual([])
  })

  it.each(['old token', 'early timer', 'no fallback'])('"%s" is caught', async (words) => {
    const run = promisify(execFile)
    const { stdout } = await run(process.execPath, ['scripts/simulate.mjs', '--mutants', words])
    expect(stdout).toContain('1 of 1 mutants caught')
  })
})
