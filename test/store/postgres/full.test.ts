/** A server whose disk is full: refused with a code, nothing acknowledged is lost, and it goes on by itself afterwards. */
import { mkdtemp, rm } from 'node:fs/promises'
import { chmodSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { Volume } from '../../../chaos/volume.ts'
import { takeCensus } from '../../../src/testing/census.ts'
import { message } from '../../../src/testing/conformance/stand.ts'
import { until } from '../redis/until.ts'
import { PostgresServer } from './server.ts'
import { storeAt } from './stores.ts'

const directory = await mkdtemp(join(tmpdir(), 'punctual-full-'))
chmodSync(directory, 0o711)
const volume = new Volume(join(directory, 'disk'), 256)
let server: PostgresServer | undefined
beforeAll(async () => {
  if (!volume.isMounted) return
  const settings = ['max_wal_size = 64MB', 'min_wal_size = 32MB']
  server = await PostgresServer.start({ settings, directory: volume.directory })
})
afterAll(async () => {
  await server?.end('SIGQUIT')
  volume.end()
  await rm(directory, { recursive: true, force: true })
})

describe.skipIf(!volume.isMounted)('a disk that is full (needs the right to mount a tmpfs)', () => {
  it('P2: STORE_FULL or STORE_UNAVAILABLE while it lasts; what was acknowledged is there, and new messages are taken', async () => {
    if (server === undefined) throw new Error('no server')
    const own = server
    const store = storeAt(own.url, undefined, { callTimeout: 2_000 })
    onTestFinished(() => store.close())
    await store.open()
    const acknowledged = new Set<string>()
    const codes = new Set<string>()
    const body = JSON.stringify('x'.repeat(4_000))
    await volume.fill()
    await until('it is refused', async () => {
      const ids = Array.from({ length: 100 }, (_, i) => `${acknowledged.size + i}-${codes.size}`)
      try {
        await store.put(ids.map((id) => message(id, { body })))
        for (const id of ids) acknowledged.add(id)
      } catch (error) {
        codes.add((error as { code: string }).code)
      }
      return codes.size > 0
    })
    for (const code of codes) expect(['STORE_FULL', 'STORE_UNAVAILABLE']).toContain(code)
    await volume.clear()
    if (!own.isRunning) await own.resume()
    await until('it takes messages again', async () => (await store.put([message('after')])).length === 1)
    const { places } = await takeCensus(store)
    for (const id of acknowledged) expect(places.has(id), id).toBe(true)
    expect(places.has('after')).toBe(true)
  })
})
