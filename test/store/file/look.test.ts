/** The queries of docs/file.md, on a store that is in use. */
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { connect } from '../../../src/store/file/database/driver.ts'
import { claimDue, dead, message } from '../../../src/testing/conformance/stand.ts'
import { openStore, temporaryDirectory, type TemporaryDirectory } from './bench.ts'

let place: TemporaryDirectory
beforeEach(async () => void (place = await temporaryDirectory()))
afterEach(() => place.remove())

test('each shows what it says', async () => {
  const text = await readFile(path.resolve(import.meta.dirname, '../../../docs/file.md'), 'utf8')
  const queries = [...text.matchAll(/^sqlite3 .*"(SELECT .*)"$/gm)].map(([, sql = '']) => sql)
  const store = await openStore(place.directory)
  await store.put([
    message('dead'),
    message('running'),
    message('large', { topic: 'other', body: 'x'.repeat(5000) }),
  ])
  const [first] = await claimDue(store, 2)
  if (first !== undefined) await store.settle([dead(first, 'failed', 'boom')])
  const connection = connect(path.join(place.directory, 'queue.db'))
  const [counts, next, errors] = queries.map((sql) => connection.prepare(sql).all())
  connection.close()
  expect(counts).toMatchObject([
    { queue: 'orders', topic: 'order.close', state: 'dead', 'count(*)': 1 },
    { queue: 'orders', topic: 'order.close', state: 'running', 'count(*)': 1 },
    { queue: 'orders', topic: 'other', state: 'waiting', 'count(*)': 1 },
  ])
  expect(next).toMatchObject([{ topic: 'other', id: 'large', body: 'x'.repeat(5000) }])
  expect(errors).toMatchObject([{ error: 'boom', 'count(*)': 1 }])
  await store.close()
})
