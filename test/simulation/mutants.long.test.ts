/** Mistakes that are planted are found. All of them: `npm run simulate -- --mutants`. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

it.each(['old token', 'early timer', 'no fallback'])('"%s" is caught', async (words) => {
  const run = promisify(execFile)
  const { stdout } = await run(process.execPath, ['scripts/simulate.mjs', '--mutants', words])
  expect(stdout).toContain('1 of 1 mutants caught')
})
