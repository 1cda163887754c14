/** The worker for dead letters of docs/guides/retries.md, as it stands there, on a clock of the test's. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { transformSync } from 'esbuild'
import { expect, it } from 'vitest'
import type { Punctual } from '../../src/index.ts'
import { makeWorld, type World } from '../runtime/world.ts'

const PAGE = readFileSync(resolve(import.meta.dirname, '../../docs/guides/retries.md'), 'utf8')
const SECTION = /^### A worker for dead letters\n[\s\S]*?^```ts\n([\s\S]*?)^```$/m
const PURGE = /^ *await undertaker\.purge\(.*\n/m

type Program = (makeQueue: () => Punctual, console: { error: (line: string) => void }) => Promise<Punctual>
type Run = { readonly queue: Punctual; readonly world: World; readonly told: string[] }

async function run(edit: (code: string) => string = (code) => code): Promise<Run> {
  const [, code = ''] = SECTION.exec(PAGE) ?? []
  expect(code).toMatch(PURGE)
  const { code: plain } = transformSync(edit(code), { loader: 'ts', format: 'esm' })
  const AsyncFunction = (async () => undefined).constructor as new (...text: string[]) => Program
  const world = makeWorld()
  const told: string[] = []
  const program = new AsyncFunction('Punctual', 'console', `${plain}\nreturn undertaker`)
  // As a function, so that `new` answers with the queue of this world.
  const queue = await program(
    function () {
      return world.queue()
    },
    { error: (line) => void told.push(line) },
  )
  queue.handle('mail.send', () => {
    throw new Error('no')
  })
  await queue.start()
  return { queue, world, told }
}

it('acts once for each death, page after page, and leaves none', async () => {
  const { queue, world, told } = await run()
  await queue.produceMany(
    Array.from({ length: 250 }, (_, i) => ({ topic: 'mail.send', id: `m${i}`, retry: { limit: 0 } })),
  )
  await world.clock.advance('5m')
  expect(told.toSorted()).toEqual(Array.from({ length: 250 }, (_, i) => `m${i} is dead: failed`).toSorted())
  expect((await queue.stats()).counts).toMatchObject({ dead: 0, ready: 0 })
})

it('where dead letters are kept, each is told once, until it was revived and died again', async () => {
  const { queue, world, told } = await run((code) => code.replace(PURGE, ''))
  await queue.produce('mail.send', null, { id: 'kept', retry: { limit: 0 } })
  await world.clock.advance('10m')
  expect(told).toEqual(['kept is dead: failed'])
  await queue.revive({ ids: ['kept'] })
  await world.clock.advance('10m')
  expect(told).toEqual(['kept is dead: failed', 'kept is dead: failed'])
})
