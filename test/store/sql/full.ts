/**
 * A server whose disk is full: refused with a code, nothing acknowledged is lost, and it goes on by itself afterwards. For every
 * SQL engine.
 */
import { chmodSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { Volume } from '../../../chaos/volume.ts'
import type { Store } from '../../../src/store/contract/store.ts'
import { takeCensus } from '../../../src/testing/census.ts'
import { message } from '../../../src/testing/conformance/stand.ts'
import { until } from '../redis/until.ts'

export type FullServer = {
  readonly url: string
  readonly isRunning: boolean
  resume(): Promise<void>
}

/** What differs between engines. */
export type FullStand<S extends FullServer> = {
  readonly isMissing: boolean
  /** With small files of its own, so that the small disk is filled by ballast and not by them. */
  readonly start: (directory: string) => Promise<S>
  readonly end: (server: S) => Promise<void>
  readonly storeAt: (url: string, callTimeout: number) => Store
}

/** Whether this process may mount: asked before the tests are chosen, and left as it was. */
const canMount = await (async () => {
  const directory = await mkdtemp(join(tmpdir(), 'punctual-mount-'))
  const tried = new Volume(join(directory, 'disk'), 1)
  tried.end()
  await rm(directory, { recursive: true, force: true })
  return tried.isMounted
})()

export function fullDisk<S extends FullServer>(stand: FullStand<S>): void {
  const isSkipped = stand.isMissing || !canMount
  let directory: string
  let volume: Volume
  let server: S
  beforeAll(async () => {
    if (isSkipped) return
    directory = await mkdtemp(join(tmpdir(), 'punctual-full-'))
    chmodSync(directory, 0o711) // The server runs as another user.
    volume = new Volume(join(directory, 'disk'), 256)
    server = await stand.start(volume.directory)
  })
  afterAll(async () => {
    if (isSkipped) return
    if (server !== undefined) await stand.end(server)
    volume.end()
    await rm(directory, { recursive: true, force: true })
  })

  describe.skipIf(isSkipped)('a disk that is full (needs the right to mount a tmpfs)', () => {
    it('P2: STORE_FULL or STORE_UNAVAILABLE while it lasts; what was acknowledged is there, and new messages are taken', async () => {
      const store = stand.storeAt(server.url, 2_000)
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
}
