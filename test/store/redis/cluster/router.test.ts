/** What a node of a cluster may say, and what may become of a call: with servers that say it when they are told to. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../../../src/clock.ts'
import { systemRandom } from '../../../../src/random.ts'
import { ClusterRouter } from '../../../../src/store/redis/cluster/router.ts'
import { readRanges } from '../../../../src/store/redis/cluster/topology.ts'
import { FakeServer, HELLO, type Answer } from '../fake-server.ts'
import { until } from '../until.ts'

const SLOT = 7
const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined }

type Fakes = { readonly servers: readonly FakeServer[]; owner: number }

/** Nodes that all name the `owner` as the master of every slot; `answer` is what each says to GET. */
async function startNodes(answers: readonly ((fakes: Fakes) => Answer)[]): Promise<Fakes> {
  const servers: FakeServer[] = []
  const fakes: Fakes = { servers, owner: 0 }
  for (const answer of answers) {
    const server = await FakeServer.start((command, socket) => {
      if (command[0] === 'HELLO') return HELLO
      if (command[0] === 'CLUSTER') return slotsOf(fakes)
      return answer(fakes)(command, socket)
    })
    servers.push(server)
    onTestFinished(() => server.stop())
  }
  return fakes
}

function slotsOf({ servers, owner }: Fakes): string {
  return `*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:${servers[owner]?.port ?? 0}\r\n`
}

function routerTo({ servers }: Fakes, callTimeoutMs = 2_000): ClusterRouter {
  const router = new ClusterRouter({
    address: {
      seeds: servers.map(({ port }) => ({ host: '127.0.0.1', port })),
      node: { database: 0 },
    },
    server: 'redis+cluster://test',
    durability: { kind: 'primary' },
    partitions: 1,
    name: 'test',
    callTimeoutMs,
    connectTimeoutMs: 1_000,
    clock: systemClock,
    random: systemRandom,
    logger: SILENT,
  })
  onTestFinished(() => router.close())
  return router
}

function get(router: ClusterRouter): Promise<unknown> {
  return router.call({ slot: SLOT, line: 'calls', command: ['GET', 'key'], fence: ['', ''] })
}

function countOf({ commands }: FakeServer, word: string): number {
  return commands.filter(([name]) => name === word).length
}

const OK = (): Answer => () => '+OK\r\n'

function toOther(other: number): (all: Fakes) => Answer {
  return (all) => () => `-MOVED ${SLOT} 127.0.0.1:${all.servers[other]?.port}\r\n`
}

describe('what was not done is sent again, within callTimeout', () => {
  it('MOVED: to the node that it names, at once', async () => {
    const fakes = await startNodes([
      (all) => () => `-MOVED ${SLOT} 127.0.0.1:${all.servers[1]?.port}\r\n`,
      OK,
    ])
    expect(await get(routerTo(fakes))).toBe('OK')
    expect(fakes.servers.map((server) => countOf(server, 'GET'))).toEqual([1, 1])
  })

  it('MOVED without a host: the host that said it', async () => {
    const fakes = await startNodes([(all) => () => `-MOVED ${SLOT} :${all.servers[1]?.port}\r\n`, OK])
    expect(await get(routerTo(fakes))).toBe('OK')
  })

  it('ASK: to the node that it names, with ASKING before it, this once', async () => {
    let isMoving = true
    const fakes = await startNodes([
      (all) => () => (isMoving ? `-ASK ${SLOT} 127.0.0.1:${all.servers[1]?.port}\r\n` : '+OK\r\n'),
      OK,
    ])
    const router = routerTo(fakes)
    expect(await get(router)).toBe('OK')
    expect(fakes.servers[1]?.commands.filter(([name]) => name !== 'HELLO').map(([name]) => name)).toEqual([
      'ASKING',
      'GET',
    ])
    isMoving = false
    expect(await get(router)).toBe('OK')
    expect(countOf(fakes.servers[0] as FakeServer, 'GET')).toBe(2)
  })

  it.each([
    'TRYAGAIN Multiple keys request during rehashing of slot',
    'CLUSTERDOWN The cluster is down',
    'LOADING Redis is loading',
  ])('%s: after a pause, as often as it takes', async (text) => {
    let left = 3
    const fakes = await startNodes([
      () => () => {
        left -= 1
        return left >= 0 ? `-${text}\r\n` : '+OK\r\n'
      },
    ])
    expect(await get(routerTo(fakes))).toBe('OK')
    expect(countOf(fakes.servers[0] as FakeServer, 'GET')).toBe(4)
  })

  it('in the end the call fails with what was said last', async () => {
    const fakes = await startNodes([() => () => '-TRYAGAIN moving\r\n'])
    await expect(get(routerTo(fakes, 300))).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('moving this slot') as string,
    })
  })

  it('P10: nodes that send a call to and fro are not hammered', async () => {
    const fakes = await startNodes([toOther(1), toOther(0)])
    await expect(get(routerTo(fakes, 500))).rejects.toBeInstanceOf(Error)
    const calls = fakes.servers.reduce((sum, server) => sum + countOf(server, 'GET'), 0)
    expect(calls).toBeLessThan(25)
  })
})

describe('what may have been done is never sent again', () => {
  it('the reply is lost with its connection: the call fails, and was sent once', async () => {
    const fakes = await startNodes([
      () => (_, socket) => {
        socket.destroy()
        return undefined
      },
    ])
    await expect(get(routerTo(fakes))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(countOf(fakes.servers[0] as FakeServer, 'GET')).toBe(1)
  })

  it('a master that is silent: the call fails after callTimeout, and was sent once', async () => {
    const fakes = await startNodes([() => () => undefined])
    await expect(get(routerTo(fakes, 300))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(countOf(fakes.servers[0] as FakeServer, 'GET')).toBe(1)
  })

  it('a silent master that was replaced is left before callTimeout, and the next call goes to the new one', async () => {
    const fakes = await startNodes([() => () => undefined, OK])
    const router = routerTo(fakes, 60_000)
    const lost = get(router)
    const heard = expect(lost).rejects.toMatchObject({
      message: expect.stringContaining('no master of the cluster any more') as string,
    })
    await until('it was sent', () => countOf(fakes.servers[0] as FakeServer, 'GET') === 1)
    fakes.owner = 1
    await heard
    expect(await get(router)).toBe('OK')
    expect(fakes.servers.map((server) => countOf(server, 'GET'))).toEqual([1, 1])
  })
})

describe('a master that is not there', () => {
  it('calls wait for the one that takes over', async () => {
    const fakes = await startNodes([OK, OK])
    const router = routerTo(fakes, 20_000)
    expect(await get(router)).toBe('OK')
    await fakes.servers[0]?.stop()
    await until('the loss is noticed', async () => {
      const waiting = get(router)
      fakes.owner = 1
      return (await waiting.catch(() => undefined)) === 'OK'
    })
    expect(countOf(fakes.servers[1] as FakeServer, 'GET')).toBe(1)
  })

  it('where nobody answers, the call fails in time and says whom it asked', async () => {
    const fakes = await startNodes([OK])
    const router = routerTo(fakes, 300)
    await fakes.servers[0]?.stop()
    await expect(get(router)).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('127.0.0.1') as string,
    })
  })

  it('a closed router fails what waits', async () => {
    const fakes = await startNodes([() => () => '-CLUSTERDOWN\r\n'])
    const router = routerTo(fakes, 60_000)
    const waiting = expect(get(router)).rejects.toMatchObject({ code: 'STORE_CLOSED' })
    await until('it was asked', () => countOf(fakes.servers[0] as FakeServer, 'GET') > 0)
    router.close()
    await waiting
  })
})

describe('CLUSTER SLOTS', () => {
  const asked = { host: '10.0.0.1', port: 6379 }
  it('a node that hides its address is the one that was asked', () => {
    expect(readRanges([[0, 5, ['', 7000, 'id'], [null, 7001, 'id']]], asked)).toEqual([
      {
        from: 0,
        until: 5,
        master: { host: '10.0.0.1', port: 7000 },
        replicas: [{ host: '10.0.0.1', port: 7001 }],
      },
    ])
  })

  it.each([['OK'], [[['a', 5, ['h', 1]]]], [[[0, 5]]], [[3]]])('%j is refused', (reply) => {
    expect(() => readRanges(reply, asked)).toThrow('CLUSTER SLOTS')
  })
})
