/** More bytes in one turn than any engine takes in one call. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Punctual } from '../../src/index.ts'
import { RedisServer } from '../store/redis/server.ts'

async function produceAll(store: string): Promise<void> {
  const queue = new Punctual({ store })
  const payload = 'x'.repeat(1_000_000)
  const ids = await Promise.all(
    Array.from({ length: 600 }, () => queue.produce('t', payload, { delay: '1h' })),
  )
  expect(new Set(ids).size).toBe(600)
  expect((await queue.stats()).counts.delayed).toBe(600)
  await queue.stop()
}

describe('P10: 600 calls of produce with 1 MB each all succeed', { timeout: 300_000 }, () => {
  it('memory', () => produceAll('memory:'))

  it('file', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'punctual-bytes-'))
    onTestFinished(() => rm(directory, { recursive: true, force: true }))
    await produceAll(`file:${directory}/store`)
  })

  it('redis', async () => {
    const server = await RedisServer.start()
    onTestFinished(() => server.stop())
    await produceAll(`${server.url}?callTimeout=60s`) // This is about bytes, not about a busy machine.
  })
})
