/** A bundled program finds the file of the store's thread, or says that it is missing. */
import { execFile } from 'node:child_process'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { afterEach, beforeEach, expect, test } from 'vitest'

const ROOT = path.resolve(import.meta.dirname, '../../..')
const DIST = path.join(ROOT, 'dist')
const PROGRAM = `
import { Punctual } from ${JSON.stringify(path.join(DIST, 'index.js'))}
const queue = new Punctual('file:' + process.argv[2])
try {
  queue.handle('t', (payload) => void console.log('handled', payload.payload))
  queue.on('completed', () => void queue.stop())
  await queue.start()
  await queue.produce('t', 42)
} catch (error) {
  console.log(error.code)
}`

let directory: string

// Inside node_modules, so that what stays outside of the bundle is found.
beforeEach(async () => {
  directory = path.join(ROOT, 'node_modules/.cache', `punctual-bundle-${process.pid}`)
  await mkdir(directory, { recursive: true })
  await writeFile(path.join(directory, 'package.json'), '{ "type": "module" }')
  await writeFile(path.join(directory, 'program.js'), PROGRAM)
})
afterEach(() => rm(directory, { recursive: true, force: true }))

async function bundle(entryPoints: Record<string, string>): Promise<void> {
  await build({
    entryPoints,
    outdir: path.join(directory, 'out'),
    bundle: true,
    platform: 'node',
    format: 'esm',
    external: ['redis', 'tsx'],
    logLevel: 'error',
  })
}

async function run(): Promise<string> {
  const program = path.join(directory, 'out/program.js')
  const { stdout } = await promisify(execFile)(process.execPath, [program, path.join(directory, 'store')])
  return stdout
}

test('esbuild: with the thread as an entry of its own, beside the program', async () => {
  await bundle({
    program: path.join(directory, 'program.js'),
    'file-thread': path.join(DIST, 'store/file/file-thread.js'),
  })
  expect(await run()).toBe('handled 42\n')
})

test('esbuild: without it the error has a code', async () => {
  await bundle({ program: path.join(directory, 'program.js') })
  expect(await run()).toBe('STORE_CLIENT_MISSING\n')
})
