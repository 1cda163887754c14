/** What may be opened, how it is named, and what is refused. */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openFileStore, parseFileTarget } from '../../../src/store/file/open.ts'
import { systemClock } from '../../../src/clock.ts'
import { systemRandom } from '../../../src/random.ts'
import { takeCensus } from '../../../src/testing/census.ts'
import { message } from '../../../src/testing/conformance/stand.ts'
import { makeStore, openStore, silent, temporaryDirectory, type TemporaryDirectory } from './bench.ts'

let place: TemporaryDirectory
beforeEach(async () => void (place = await temporaryDirectory()))
afterEach(() => place.remove())

describe('the URL', () => {
  test.each([
    ['file:', '.punctual', 'full'],
    ['file:.punctual', '.punctual', 'full'],
    ['file:queues/orders', 'queues/orders', 'full'],
    ['file:/var/lib/orders', '/var/lib/orders', 'full'],
    ['file:///var/lib/orders', '/var/lib/orders', 'full'],
    ['file:a%20b%3F', 'a b?', 'full'],
    ['file:x?sync=off', 'x', 'off'],
    ['file:x?sync=full', 'x', 'full'],
  ])('%s is understood', (target, directory, sync) => {
    expect(parseFileTarget(target)).toEqual({ directory, sync })
  })

  test.each([
    ['redis://x', 'STORE_URL_INVALID'],
    ['file:100%', 'STORE_URL_INVALID'],
    ['file:x?sync=maybe', 'OPTION_INVALID'],
    ['file:x?snyc=off', 'OPTION_UNKNOWN'],
  ])('%s is refused with %s', (target, code) => {
    expect(() => parseFileTarget(target)).toThrowError(expect.objectContaining({ code }))
  })
})

test('a store opens by its URL, and finds what was there', async () => {
  const context = { queue: 'orders', clock: systemClock, random: systemRandom, logger: silent }
  for (const expected of ['stored', 'duplicate']) {
    const store = openFileStore(`file:${place.directory}/deep/down`, context)
    await store.open()
    expect(await store.put([message('a')])).toEqual([expected])
    await store.close()
  }
})

test('a directory with anything else in it is refused and left alone', async () => {
  await writeFile(path.join(place.directory, 'letter.txt'), 'dear diary')
  await expect(makeStore(place.directory).open()).rejects.toMatchObject({ code: 'STORE_FOREIGN' })
  expect(await readFile(path.join(place.directory, 'letter.txt'), 'utf8')).toBe('dear diary')
})

test('somebody else’s LMDB is refused', async () => {
  const lmdb = await import('lmdb')
  const other = lmdb.open({ path: place.directory, noSubdir: false, encoding: 'string' })
  await other.put('their', 'data')
  await other.close()
  await expect(makeStore(place.directory).open()).rejects.toMatchObject({ code: 'STORE_FOREIGN' })
})

test('a data file that is no LMDB at all is refused', async () => {
  await writeFile(path.join(place.directory, 'data.mdb'), 'x'.repeat(20_000))
  await expect(makeStore(place.directory).open()).rejects.toMatchObject({ code: 'STORE_FOREIGN' })
})

test('a newer format is refused', async () => {
  const store = await openStore(place.directory)
  await store.close()
  await writeFile(path.join(place.directory, 'format'), 'punctual file store, format 2\nand more\n')
  await expect(makeStore(place.directory).open()).rejects.toMatchObject({ code: 'STORE_TOO_NEW' })
})

test('a format file that makes no sense is refused', async () => {
  const store = await openStore(place.directory)
  await store.close()
  await writeFile(path.join(place.directory, 'format'), 'punctual?')
  await expect(makeStore(place.directory).open()).rejects.toMatchObject({ code: 'STORE_CORRUPT' })
})

test('a path that is a file is an error that names it', async () => {
  const file = path.join(place.directory, 'file')
  await writeFile(file, '')
  await expect(makeStore(file).open()).rejects.toMatchObject({ code: 'STORE_FOREIGN' })
})

test('a directory whose making was cut short is finished', async () => {
  const directory = path.join(place.directory, 'half')
  await mkdir(directory)
  await writeFile(path.join(directory, 'data.mdb'), '')
  await writeFile(path.join(directory, 'format.12.new'), 'punct')
  const store = await openStore(directory)
  await store.put([message('a')])
  expect((await takeCensus(store)).total).toBe(1)
  await store.close()
})

test('two handles of one process must agree on sync', async () => {
  const store = await openStore(place.directory)
  const other = makeStore(place.directory, { sync: 'off' })
  await expect(other.open()).rejects.toMatchObject({ code: 'OPTION_INVALID' })
  await other.close()
  await store.close()
})

test('with sync=off everything works, and the doctor warns', async () => {
  const store = await openStore(place.directory, { sync: 'off' })
  await store.put([message('a')])
  expect((await takeCensus(store)).total).toBe(1)
  const warnings = (await store.doctor()).filter(({ level }) => level === 'warning')
  expect(warnings.map(({ what }) => what).join()).toContain('sync=off')
  await store.close()
})

test('a store that failed to open can be tried again', async () => {
  const letter = path.join(place.directory, 'letter.txt')
  await writeFile(letter, '')
  const store = makeStore(place.directory)
  await expect(store.open()).rejects.toMatchObject({ code: 'STORE_FOREIGN' })
  await rm(letter)
  await store.open()
  expect(await store.put([message('a')])).toEqual(['stored'])
  await store.close()
})

test('a store that failed to open can be closed, and a closed one cannot be opened again', async () => {
  await writeFile(path.join(place.directory, 'letter.txt'), '')
  const store = makeStore(place.directory)
  await expect(store.open()).rejects.toMatchObject({ code: 'STORE_FOREIGN' })
  await store.close()
  await expect(store.open()).rejects.toMatchObject({ code: 'STORE_CLOSED' })
})

test('a store closed while it opens lets go of the directory', async () => {
  const store = makeStore(place.directory)
  const opening = store.open()
  await store.close()
  await opening
  await expect(store.put([message('a')])).rejects.toMatchObject({ code: 'STORE_CLOSED' })
  const again = await openStore(place.directory)
  await again.close()
})
