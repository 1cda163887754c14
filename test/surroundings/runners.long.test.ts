/** The tests that docs/guides/testing-time.md shows, in the runners that it shows them for. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { here, Project, ROOT, SURROUNDINGS } from './project.ts'

const BLOCK = /^```js\n\/\/ (.+): (.+)\n([\s\S]*?)^```$/gm

async function shown(runner: string): Promise<{ file: string; code: string }> {
  const text = await readFile(join(ROOT, 'docs/guides/testing-time.md'), 'utf8')
  const found = [...text.matchAll(BLOCK)].find(([, name]) => name === runner)
  if (found === undefined) throw new Error(`the guide shows nothing for ${runner}`)
  const [, , file = '', code = ''] = found
  return { file, code }
}

it('vitest', async () => {
  const project = await Project.make({ vitest: here('vitest') })
  const { file, code } = await shown('vitest')
  await project.write(file, code)
  const ended = await project.node([join(here('vitest'), 'vitest.mjs'), 'run', '--root', project.path])
  expect(ended).toMatchObject({ code: 0 })
  expect(ended.stdout).toMatch(/1 passed/)
})

it('node --test', async () => {
  const project = await Project.make()
  const { file, code } = await shown('node --test')
  await project.write(file, code)
  const ended = await project.node(['--test', file])
  expect(ended).toMatchObject({ code: 0 })
  expect(ended.stdout).toMatch(/# pass 1|pass 1/)
})

it('Jest, and the stores in its realm, where Node’s errors are no Error', async () => {
  const project = await Project.make({ '@jest/globals': join(SURROUNDINGS, '@jest/globals') })
  const { file, code } = await shown('jest')
  await project.write(file, code)
  await project.write(
    'stores.test.js',
    `import { expect, test } from '@jest/globals'
     import { join } from 'node:path'
     import { Punctual, UsageError } from 'punctual'

     test('a file store in a directory that is not there yet', async () => {
       const queue = new Punctual({ store: 'file:' + join(import.meta.dirname, 'deep', 'new') })
       await queue.produce('t', { n: 1 })
       expect((await queue.stats()).counts.ready).toBe(1)
       await queue.stop()
     })

     test('one where a file is in the way', async () => {
       const queue = new Punctual({ store: 'file:' + join(import.meta.dirname, 'package.json', 'x') })
       const error = await queue.produce('t').catch((reason) => reason)
       expect(error).toBeInstanceOf(UsageError)
       expect(error.code).toBe('STORE_FOREIGN')
     })

     test('a server that is away', async () => {
       const queue = new Punctual({ store: 'redis://127.0.0.1:1?callTimeout=300ms', logger: false })
       const error = await queue.produce('t').catch((reason) => reason)
       expect(error.code).toBe('STORE_UNAVAILABLE')
       expect(error.message).toContain('ECONNREFUSED')
       await queue.stop()
     })`,
  )
  const jest = join(SURROUNDINGS, 'jest', 'bin', 'jest.js')
  const ended = await project.node([
    '--experimental-vm-modules',
    jest,
    '--testTimeout',
    '120000',
    '--no-cache',
  ])
  expect(ended.stderr).toMatch(/Tests: +4 passed, 4 total/)
  expect(ended.code).toBe(0)
})
