/**
 * Two versions of the package on one store. The other one is today's build under another number: it shows that nothing on the
 * way (packages, threads, wake-ups, worker lists, migrations that are done twice) minds another copy with another version.
 * What an older version left in a store is shown by `test/store/formats`.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { VERSION } from '../../src/core/version.ts'
import { Punctual } from '../../src/index.ts'
import { SHARED_ENGINES } from './engines.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const OTHER = '99.0.0'
const WORKER = join(import.meta.dirname, 'children/versioned-worker.mjs')

let other: string
beforeAll(async () => {
  other = await mkdtemp(join(tmpdir(), 'punctual-other-'))
  await cp(join(ROOT, 'dist'), join(other, 'dist'), { recursive: true })
  await symlink(join(ROOT, 'node_modules'), join(other, 'node_modules'))
  const manifest = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as object
  await writeFile(join(other, 'package.json'), JSON.stringify({ ...manifest, version: OTHER }))
  const file = join(other, 'dist/core/version.js')
  const text = await readFile(file, 'utf8')
  expect(text).toContain(VERSION)
  await writeFile(file, text.replaceAll(VERSION, OTHER))
})
afterAll(() => rm(other, { recursive: true, force: true }))

type Worker = { readonly child: ChildProcess; readonly lines: string[] }

async function startWorker(folder: string, url: string, mode: 'share' | 'hold' | 'work'): Promise<Worker> {
  const child = spawn(process.execPath, [WORKER, join(folder, 'dist'), url, mode], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines: string[] = []
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'close')
  })
  child.stdout?.on('data', (chunk: Buffer) => lines.push(...chunk.toString().split('\n').filter(Boolean)))
  await until(() => lines.includes('ready'))
  return { child, lines }
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((wait) => setTimeout(wait, 10))
}

describe.each(SHARED_ENGINES)('$name', ({ open }) => {
  it('two versions share the work: each message runs once, both are listed, each takes over from the other', async () => {
    const url = await open()
    const [ours, theirs] = [await startWorker(ROOT, url, 'share'), await startWorker(other, url, 'share')]
    const ran = (): string[] => [...ours.lines, ...theirs.lines].filter((line) => line !== 'ready')
    await until(() => ran().length >= 100)
    const ids = ran().map((line) => line.slice(line.indexOf(' ') + 1))
    expect(ids.toSorted()).toEqual(
      [VERSION, OTHER]
        .flatMap((version) => Array.from({ length: 50 }, (_, n) => `${version}-${n}`))
        .toSorted(),
    )
    expect(new Set(ran().map((line) => line.split(' ')[0]))).toEqual(new Set([VERSION, OTHER]))
    const queue = new Punctual({ store: url, logger: false })
    const versions = (await queue.workers()).map(({ facts }) => facts?.version ?? 'unknown')
    expect(versions.toSorted()).toEqual([VERSION, OTHER].toSorted())

    // Theirs dies with a message in hand; ours runs it.
    for (const { child } of [ours, theirs]) child.kill('SIGTERM')
    for (const { child } of [ours, theirs]) if (child.exitCode === null) await once(child, 'close')
    const dying = await startWorker(other, url, 'hold')
    await queue.produce('shared', 1, { id: 'left-behind' })
    await until(() => dying.lines.includes(`${OTHER} left-behind`))
    dying.child.kill('SIGKILL')
    const heir = await startWorker(ROOT, url, 'work')
    await until(() => heir.lines.includes(`${VERSION} left-behind`))
    await queue.stop()
  })
})
