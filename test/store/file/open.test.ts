/** What may be opened, how it is named, and what is refused. */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { connect } from '../../../src/store/file/database/driver.ts'
import { openFileStore, parseFileTarget, withoutSlashBeforeDrive } from '../../../src/store/file/open.ts'
import { Punctual } from '../../../src/index.ts'
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

test.each(['.DS_Store', '._queue.db', 'desktop.ini', 'Thumbs.db', 'lost+found', '.nfs000000000012'])(
  'what a system leaves in a directory is no reason to refuse it: %s',
  async (name) => {
    await writeFile(path.join(place.directory, name), '')
    const store = await openStore(place.directory)
    expect(await store.put([message('a')])).toEqual(['stored'])
    await store.close()
  },
)

test('a path on a drive of Windows', () => {
  expect(['/C:/data', '/d:\\data', '/var/lib', 'C:/data', '/c'].map(withoutSlashBeforeDrive)).toEqual([
    'C:/data',
    'd:\\data',
    '/var/lib',
    'C:/data',
    '/c',
  ])
})

test('somebody else’s SQLite file is refused and left alone', async () => {
  const other = connect(path.join(place.directory, 'queue.db'))
  other.exec('CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)')
  other.close()
  await expect(makeStore(place.directory).open()).rejects.toMatchObject({ code: 'STORE_FOREIGN' })
})

test('a file that is no SQLite file at all is refused', async () => {
  await writeFile(path.join(place.directory, 'queue.db'), 'x'.repeat(20_000))
  await expect(makeStore(place.directory).open()).rejects.toMatchObject({ code: 'STORE_CORRUPT' })
})

test('a store of the time before SQLite is refused, with a word about what wrote it', async () => {
  await writeFile(path.join(place.directory, 'data.mdb'), 'x')
  await expect(makeStore(place.directory).open()).rejects.toMatchObject({
    code: 'STORE_TOO_OLD',
    message: expect.stringContaining('before 0.1.0') as string,
  })
})

test('a newer format is refused', async () => {
  const store = await openStore(place.directory)
  await store.close()
  const newer = connect(path.join(place.directory, 'queue.db'))
  newer.exec('PRAGMA user_version = 999')
  newer.close()
  await expect(makeStore(place.directory).open()).rejects.toMatchObject({ code: 'STORE_TOO_NEW', value: 999 })
})

test('a store whose tables are gone is refused', async () => {
  const store = await openStore(place.directory)
  await store.close()
  const emptied = connect(path.join(place.directory, 'queue.db'))
  emptied.exec('DROP VIEW messages; DROP TABLE message')
  emptied.close()
  const again = makeStore(place.directory)
  await again.open()
  await expect(again.put([message('a')])).rejects.toMatchObject({ code: 'STORE_CORRUPT' })
  await again.close()
})

test('a path that is a file is an error that names it', async () => {
  const file = path.join(place.directory, 'file')
  await writeFile(file, '')
  await expect(makeStore(file).open()).rejects.toMatchObject({ code: 'STORE_FOREIGN' })
})

test('a directory whose making was cut short is finished', async () => {
  const directory = path.join(place.directory, 'half')
  await mkdir(directory)
  const begun = connect(path.join(directory, 'queue.db'))
  begun.exec('PRAGMA journal_mode = WAL')
  begun.close()
  const store = await openStore(directory)
  await store.put([message('a')])
  expect((await takeCensus(store)).total).toBe(1)
  await store.close()
})

test('an empty file from a making that was cut short is filled', async () => {
  await writeFile(path.join(place.directory, 'queue.db'), '')
  const store = await openStore(place.directory)
  expect(await store.put([message('a')])).toEqual(['stored'])
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

test('the doctor counts messages as "list" does, without those of our own', async () => {
  await using queue = new Punctual({ store: `file:${place.directory}`, logger: false })
  await queue.produceMany([{ topic: 't' }, { topic: 't', delay: '1h' }])
  await queue.schedules.set('daily', { topic: 't', every: '1d' })
  expect((await queue.doctor()).map(({ what }) => what)).toContain(
    'all 2 messages of this store are in order',
  )
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
