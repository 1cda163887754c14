/** The code in the guides compiles: the blocks of one page, in their order, are one program. */
import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')
const BLOCK = /^```ts\n([\s\S]*?)^```$/gm

/** The pages of engines: their blocks are single lines, each a URL to choose from. */
const PIECES = new Set(['file', 'redis', 'postgres', 'mysql'].map((engine) => `docs/${engine}.md`))

it('every ts block of every page of docs/, docs/guides/ and docs/recipes/', async () => {
  // Below the root, so that packages and the root's configuration are found from there.
  const directory = join(ROOT, 'node_modules/.cache', `punctual-guides-${process.pid}`)
  await mkdir(directory, { recursive: true })
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  for (const file of await pages()) {
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

async function pages(): Promise<string[]> {
  const folders = ['docs', 'docs/guides', 'docs/recipes'].map(async (folder) =>
    (await readdir(join(ROOT, folder))).map((file) => join(folder, file)),
  )
  return (await Promise.all(folders)).flat().filter((file) => file.endsWith('.md') && !PIECES.has(file))
}
