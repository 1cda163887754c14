/** An application without OpenTelemetry: there are no traces, nothing is stored of them, and nothing is missing. */
import { execFile } from 'node:child_process'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')

const SCRIPT = `
import { createRequire } from 'node:module'
import { Punctual } from 'punctual'
let isThere = true
try { createRequire(import.meta.url).resolve('@opentelemetry/api') } catch { isThere = false }
const queue = new Punctual({ store: 'memory:' })
const done = new Promise((resolve) => queue.handle('t', ({ payload }) => resolve(payload)))
await queue.start()
await queue.produce('t', 42)
console.log(JSON.stringify({ isThere, payload: await done }))
await queue.stop()
`

it('works without the package', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'punctual-alone-'))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  const modules = join(directory, 'node_modules')
  await cp(join(ROOT, 'dist'), join(modules, 'punctual/dist'), { recursive: true })
  await cp(join(ROOT, 'package.json'), join(modules, 'punctual/package.json'))
  await cp(join(ROOT, 'node_modules/croner'), join(modules, 'croner'), { recursive: true })
  await writeFile(join(directory, 'main.mjs'), SCRIPT)
  const { stdout } = await promisify(execFile)(process.execPath, ['main.mjs'], { cwd: directory })
  expect(JSON.parse(stdout)).toEqual({ isThere: false, payload: 42 })
})
