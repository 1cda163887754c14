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

/** Whether this process may mount: asked before the tests are chosen, and left as it was. */
const canMount = await (async () => {
  const directory = await mkdtemp(join(tmpdir(), 'punctual-mount-'))
  const tried = new Volume(join(directory, 'disk'), 1)
  tried.end()
  await rm(directory, { recursive: true, force: true })
  return tried.isMounted
})()

let directory: string
let volume: Volume
let server: PostgresServer
beforeAll(async () => {
  if (!canMount) return
  directory = await mkdtemp(join(tmpdir(), 'punctual-full-'))
  chmodSync(directory, 0o711)
  volume = new Volume(join(directory, 'disk'), 256)
  const settings = ['max_wal_size = 64MB', 'min_wal_size = 32MB']
  server = await PostgresServer.start({ settings, directory: volume.directory })
})
afterAll(async () => {
  if (!canMount) return
  await server?.end('SIGQUIT')
  volume.end()
  await rm(directory, { recursive: true, force: true })
})

describe.skipIf(!canMount)('a disk that is full (needs the right to mount a tmpfs)', () => {
  it('P2: STORE_FULL or STORE_UNAVAILABLE while it lasts; what was acknowledged is there, and new messages are taken', async () => {
    const store = storeAt(server.url, undefined, { callTimeout: 2_000 })
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
    if (!server.isRunning) await server.resume()
    await until('it takes messages again', async () => (await store.put([message('after')])).length === 1)
    const { places } = await takeCensus(store)
    for (const id of acknowledged) expect(places.has(id), id).toBe(true)
    expect(places.has('after')).toBe(true)
  })
})
