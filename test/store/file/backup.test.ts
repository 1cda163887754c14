import { rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { takeCensus } from '../../../src/testing/census.ts'
import { claimDue, idsOf, message } from '../../../src/testing/conformance/stand.ts'
import { openStore, temporaryDirectory, type TemporaryDirectory } from './bench.ts'

let place: TemporaryDirectory
beforeEach(async () => void (place = await temporaryDirectory()))
afterEach(() => place.remove())

test('a backup made while others write is whole, and works as a store', async () => {
  const live = path.join(place.directory, 'live')
  const copy = path.join(place.directory, 'copy')
  const store = await openStore(live)
  await store.put(Array.from({ length: 500 }, (_, i) => message(`before${i}`)))
  const end = new AbortController()
  const writing = (async () => {
    for (let i = 0; !end.signal.aborted; i += 1) await store.put([message(`meanwhile${i}`)])
  })()
  await store.backup(copy)
  end.abort()
  await writing
  await store.close()
  await rm(live, { recursive: true })

  const restored = await openStore(copy)
  const { places } = await takeCensus(restored)
  for (let i = 0; i < 500; i += 1) expect(places.get(`before${i}`)).toBe('ready')
  expect(idsOf(await claimDue(restored, 2))).toEqual(['before0', 'before1'])
  await restored.close()
})

test('a backup into a directory that is in use is refused', async () => {
  const store = await openStore(path.join(place.directory, 'live'))
  await writeFile(path.join(place.directory, 'something'), '')
  await expect(store.backup(place.directory)).rejects.toMatchObject({ code: 'STORE_FOREIGN' })
  await store.close()
})
