/** How engines register, and what a store tells about its queues before one of them is opened. */
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from 'redis'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { Punctual } from '../../src/index.ts'
import { ENGINES, engineForUrl, exampleServerUrl, exampleUrls } from '../../src/store/engines.ts'
import { MemoryStore } from '../../src/store/memory/store.ts'
import { systemClock } from '../../src/clock.ts'
import { RedisServer } from './redis/server.ts'

function fromNumber(): Punctual {
  return new Punctual({ store: 5 as never })
}

function refusal(owners: string): Error {
  return expect.objectContaining({
    code: 'OPTION_INVALID',
    message: expect.stringContaining(`only a ${owners} store has this option`) as string,
  }) as Error
}

describe('the table of engines', () => {
  it('no two engines share a name or a scheme', () => {
    const lists = [ENGINES.map(({ name }) => name), ENGINES.flatMap(({ schemes }) => schemes)]
    for (const list of lists) expect(new Set(list).size).toBe(list.length)
  })

  it.each(ENGINES.map((engine) => [engine.name, engine] as const))(
    '%s: its example and its URLs lead to it, and it says what it is',
    (_name, engine) => {
      expect(engineForUrl(engine.example)).toBe(engine)
      for (const url of engine.urls) expect(engineForUrl(url)).toBe(engine)
      expect(engine.help).toMatch(/\w{3}/)
      for (const { help } of Object.values(engine.options)) expect(help).toMatch(/\w{3}/)
    },
  )

  it('the refusal of a store names an example of each engine that outlives the process', () => {
    for (const url of exampleUrls()) expect(fromNumber).toThrow(url)
    expect(exampleUrls()).toContain(exampleServerUrl())
    expect(exampleUrls()).not.toContain('memory:')
  })

  it('an option of some engines is refused with another, and with a store object', () => {
    expect(() => new Punctual({ store: 'memory:', durability: 'primary' })).toThrow(
      refusal('redis or postgres or mysql'),
    )
    expect(() => new Punctual({ store: 'memory:', migrate: false })).toThrow(refusal('postgres or mysql'))
    const store = new MemoryStore(systemClock)
    expect(() => new Punctual({ store, durability: 'primary' })).toThrow(
      refusal('redis or postgres or mysql'),
    )
  })

  it('an object that lacks a verb of the contract is no store', () => {
    const store = new MemoryStore(systemClock)
    const partial = Object.assign(Object.create(store) as MemoryStore, { forecast: undefined })
    expect(() => new Punctual({ store: partial })).toThrow(expect.objectContaining({ code: 'STORE_INVALID' }))
  })
})

async function directory(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'punctual-queues-'))
  onTestFinished(() => rm(made, { recursive: true, force: true }))
  return made
}

const NAMES = ['100%', 'a b', 'default', 'größe', 'x:y']

async function fill(store: string): Promise<void> {
  for (const queue of NAMES) {
    const one = new Punctual({ store, queue })
    await one.produce('t', 1)
    await one.stop()
  }
}

describe('the queues of a store', () => {
  it('file: their names; a directory that is not there is not made', async () => {
    const parent = await directory()
    const store = `file:${parent}/store`
    expect(await Punctual.queues(store)).toEqual({ names: [], isComplete: true })
    expect(await readdir(parent)).toEqual([])
    await fill(store)
    expect(await Punctual.queues(store)).toEqual({ names: NAMES, isComplete: true })
  })

  it('memory has none to show, a store object is refused', async () => {
    expect(await Punctual.queues('memory:')).toEqual({ names: [], isComplete: true })
    await expect(Punctual.queues(new MemoryStore(systemClock) as never)).rejects.toMatchObject({
      code: 'UNSUPPORTED',
    })
    await expect(Punctual.queues('nowhere:')).rejects.toMatchObject({ code: 'STORE_URL_INVALID' })
  })

  describe('redis', () => {
    let server: RedisServer
    beforeAll(async () => void (server = await RedisServer.start()))
    afterAll(() => server.stop())

    it('their names among the keys of others, by URL or by client; no connection stays', async () => {
      await fill(server.url)
      for (let i = 0; i < 3_000; i += 1) await server.admin(['SET', `other:${i}`, '1'])
      await server.admin(['SET', 'punctual:something', '1'])
      const found = { names: NAMES, isComplete: true }
      expect(await Punctual.queues(server.url)).toEqual(found)
      expect(await Punctual.queues(createClient({ url: server.url }))).toEqual(found)
      expect(String(await server.admin(['CLIENT', 'LIST']))).not.toContain('name=punctual:queues')
    })

    it('P10: on a server with very many keys it stops, and says that there may be more', async () => {
      await server.admin(['EVAL', "for i = 1, 300000 do redis.call('SET', 'much:' .. i, 1) end", '0'])
      const { isComplete } = await Punctual.queues(server.url)
      expect(isComplete).toBe(false)
    })

    it('a server that is away is an UnavailableError', async () => {
      const url = 'redis://127.0.0.1:1?callTimeout=100ms&connectTimeout=100ms'
      await expect(Punctual.queues(url)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    })
  })
})
