/** Another process holds the write lock, or this one ends while it writes: calls have a deadline, and nobody hangs. */
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest'
import { takeCensus } from '../../../src/testing/census.ts'
import { message } from '../../../src/testing/conformance/stand.ts'
import { openStore, temporaryDirectory, type TemporaryDirectory } from './bench.ts'
import { endAll, start } from './programs.ts'

const EXITS = Number(process.env['PUNCTUAL_EXITS'] ?? 50)

let place: TemporaryDirectory
let directory: string

afterAll(endAll)
beforeEach(async () => {
  place = await temporaryDirectory()
  directory = path.join(place.directory, 'store')
})
afterEach(() => place.remove())

test('P11: a held lock: open and looking work, put rejects at its deadline, the event loop lives, and exit ends', async () => {
  const store = await openStore(directory)
  await store.put([message('before')])
  const holder = start('hold.mjs', { directory })
  await holder.said('holding')
  const child = start('held.mjs', { directory })
  expect(await child.said('open')).toMatch(/^open resolved/)
  expect(await child.said('count')).toMatch(/^count resolved/)
  expect(await child.said('put')).toMatch(
    /^put rejected UnavailableError STORE_UNAVAILABLE after ([5-9]\d{3}|\d{5})$/,
  )
  expect(Number((await child.said('stood')).split(' ')[1])).toBeLessThan(2000)
  await child.finished()
  await holder.kill()
  expect(await store.put([message('after')])).toEqual(['stored'])
  expect([...(await takeCensus(store)).places.keys()].toSorted()).toEqual(['after', 'before'])
  await store.close()
})

test('a process killed while it holds the write lock blocks nobody', async () => {
  const store = await openStore(directory)
  await store.put([message('before')])
  const holder = start('hold.mjs', { directory })
  await holder.said('holding')
  const put = store.put([message('after')])
  await holder.kill()
  expect(await put).toEqual(['stored'])
  expect((await takeCensus(store)).total).toBe(2)
  await store.close()
})

test('who waits for the lock has it when it is free, and looks meanwhile', async () => {
  const store = await openStore(directory)
  const release = path.join(place.directory, 'release')
  const holder = start('hold.mjs', { directory, release })
  await holder.said('holding')
  const puts = [store.put([message('a')]), store.put([message('b')])]
  expect((await store.count()).states.ready).toBe(0)
  await writeFile(release, '')
  expect(await Promise.all(puts)).toEqual([['stored'], ['stored']])
  await holder.finished()
  await store.close()
})

test('closing does not wait for a process that keeps the write lock', async () => {
  const store = await openStore(directory)
  const holder = start('hold.mjs', { directory })
  await holder.said('holding')
  const put = store.put([message('stuck')])
  const outcome = expect(put).rejects.toMatchObject({ code: 'STORE_CLOSED' })
  await store.close()
  await outcome
  await holder.kill()
})

test(`P11: ${EXITS} times process.exit with calls under way: it ends, nobody else stops, and the store is whole`, async () => {
  const store = await openStore(directory)
  for (let round = 0; round < EXITS; round += 1) {
    const child = start('exit.mjs', { directory, name: `r${round}`, seed: round })
    await child.said('begun')
    expect(await store.put([message(`beside${round}`, { when: { delayMs: 3_600_000 } })])).toEqual(['stored'])
    await child.finished()
  }
  const { places } = await takeCensus(store)
  for (let round = 0; round < EXITS; round += 1) expect(places.get(`beside${round}`)).toBe('delayed')
  const problems = (await store.doctor()).filter(({ what }) => what.startsWith('damaged'))
  expect(problems).toEqual([])
  await store.close()
}, 300_000)
