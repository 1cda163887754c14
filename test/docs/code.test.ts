/** The code in the guides compiles: the blocks of one page, in their order, are one program. */
import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')
const BLOCK = /^```ts\n([\s\S]*?)^```$/gm

it('every ts block of every guide, and of docs/cli.md', async () => {
  // Below the root, so that packages and the root's configuration are found from there.
  const directory = join(ROOT, 'node_modules/.cache', `punctual-guides-${process.pid}`)
  await mkdir(directory, { recursive: true })
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  const guides = (await readdir(join(ROOT, 'docs/guides'))).map((file) => join('docs/guides', file))
  for (const file of ['docs/cli.md', ...guides]) {
    const blocks = [...(await readFile(join(ROOT, file), 'utf8')).matchAll(BLOCK)].map(([, code]) => code)
    await writeFile(join(directory, `${basename(file, '.md')}.ts`), blocks.join('\n'))
  }
  const config = {
    extends: join(ROOT, 'tsconfig.json'),
    compilerOptions: { noUnusedLocals: false },
    include: ['*.ts'],
  }
  await writeFile(join(directory, 'tsconfig.json'), JSON.stringify(config))
  await writeFile(join(directory, 'package.json'), '{ "type": "module" }')
  const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc')
  const { stdout } = await promisify(execFile)(process.execPath, [tsc, '-p', directory]).catch(
    (error: { stdout: string }) => error,
  )
  expect(stdout).toBe('')
})
