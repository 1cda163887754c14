/** A program that only produces or looks ends by itself, without stop(), on every engine: scripts, functions in the cloud. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { Punctual } from '../../src/index.ts'
import { RedisCluster } from '../store/redis/cluster/servers.ts'
import { ReplicationGroup } from '../store/redis/replication-group.ts'
import { RedisServer } from '../store/redis/server.ts'
import { Child } from './child.ts'
import { SHARED_ENGINES } from './engines.ts'

const PLACES: readonly { readonly name: string; readonly open: () => Promise<string> }[] = [
  ...SHARED_ENGINES,
  {
    name: 'cluster',
    open: async () => {
      const servers = await RedisCluster.start({ replicas: 0 })
      onTestFinished(() => servers.stop())
      return servers.url('?partitions=4')
    },
  },
  {
    name: 'sentinel',
    open: async () => {
      const group = await ReplicationGroup.start()
      onTestFinished(() => group.stop())
      return group.url()
    },
  },
]

async function isStored(store: string, id: string): Promise<boolean> {
  await using queue = new Punctual({ store, queue: 'leaving' })
  return (await queue.get(id)) !== undefined
}

describe.each(PLACES)('$name', ({ open }) => {
  it('a producer without stop() ends when its call is answered', async () => {
    const store = await open()
    const child = new Child('leaving.mjs', { store, id: 'awaited' })
    expect(await child.exited()).toBe(0)
    expect((await child.said('stats'))['stats']).toMatchObject({ delayed: 1 })
  })

  it('P2: a call that is not awaited is done before the process ends', async () => {
    const store = await open()
    const child = new Child('leaving.mjs', { store, id: 'forgotten', isAwaited: false })
    expect(await child.exited()).toBe(0)
    expect(await isStored(store, 'forgotten')).toBe(true)
  })
})

describe('memory', () => {
  it('a producer without stop() ends', async () => {
    const child = new Child('leaving.mjs', { store: 'memory:', id: 'awaited' })
    expect(await child.exited()).toBe(0)
  })
})

it('a producer whose server went away does not wait for it', async () => {
  const server = await RedisServer.start()
  onTestFinished(() => server.stop())
  const child = new Child('leaving.mjs', { store: server.url, id: 'x', stays: true })
  await child.said('stats')
  await server.stop()
  await child.said('warned')
  child.signal('SIGUSR2')
  expect(await child.exited()).toBe(0)
})
