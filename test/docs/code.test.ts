/**
 * The code in the guides compiles: the blocks of one page, in their order, are one program. The recipes compile with the
 * configuration that newcomers are told to write, too.
 */
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')
const BLOCK = /^```ts\n([\s\S]*?)^```$/gm

/** The pages of engines: their blocks are single lines, each a URL to choose from. */
const PIECES = new Set(['file', 'redis', 'postgres', 'mysql'].map((engine) => `docs/${engine}.md`))

it('every ts block of every page of docs/, docs/guides/ and docs/recipes/', async () => {
  const directory = await directoryOf(await pages())
  const config = {
    extends: join(ROOT, 'tsconfig.json'),
    compilerOptions: { noUnusedLocals: false, erasableSyntaxOnly: false },
    include: ['*.ts'],
  }
  expect(await compile(directory, config)).toBe('')
})

it('the recipes, with the configuration of getting-started.md', async () => {
  const directory = await directoryOf((await pages()).filter((file) => file.startsWith('docs/recipes')))
  const text = await readFile(join(ROOT, 'docs/getting-started.md'), 'utf8')
  const config = JSON.parse(/^```json\n([\s\S]*?)^```$/m.exec(text)?.[1] ?? '{}') as {
    compilerOptions: object
  }
  // As it is installed: what was built.
  await mkdir(join(directory, 'node_modules'))
  await symlink(ROOT, join(directory, 'node_modules/punctual'), 'dir')
  const compilerOptions = { ...config.compilerOptions, noEmit: true }
  expect(await compile(directory, { compilerOptions, include: ['*.ts'] })).toBe('')
})

/** Each page as one program. Below the root, so that packages and the root's configuration are found from there. */
async function directoryOf(files: readonly string[]): Promise<string> {
  const directory = join(ROOT, 'node_modules/.cache', `punctual-guides-${process.pid}-${randomUUID()}`)
  await mkdir(directory, { recursive: true })
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  for (const file of files) {
    const blocks = [...(await readFile(join(ROOT, file), 'utf8')).matchAll(BLOCK)].map(([, code]) => code)
    await writeFile(join(directory, `${basename(file, '.md')}.ts`), blocks.join('\n'))
  }
  return directory
}

/** What the compiler says. */
async function compile(directory: string, config: object): Promise<string> {
  await writeFile(join(directory, 'tsconfig.json'), JSON.stringify(config))
  await writeFile(join(directory, 'package.json'), '{ "type": "module" }')
  const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc')
  const { stdout } = await promisify(execFile)(process.execPath, [tsc, '-p', directory]).catch(
    (error: { stdout: string }) => error,
  )
  return stdout
}

async function pages(): Promise<string[]> {
  const folders = ['docs', 'docs/guides', 'docs/recipes'].map(async (folder) =>
    (await readdir(join(ROOT, folder))).map((file) => join(folder, file)),
  )
  return (await Promise.all(folders)).flat().filter((file) => file.endsWith('.md') && !PIECES.has(file))
}
