/** Three stages, each on brokers of its own: the bridge is killed, the broker is killed, a cluster loses its leader. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { SeededRandom } from '../../src/testing/index.ts'
import { Epmd, RabbitServer } from '../../test/doors/amqp/server.ts'
import { until } from '../../test/store/redis/until.ts'
import { Balancer } from './balancer.ts'
import { BridgeAudit, type BridgeVerdict } from './audit.ts'
import { BridgeProcess } from './bridge-process.ts'
import { Traffic } from './traffic.ts'

export type StageOptions = {
  readonly kills: number
  readonly seed: number
  readonly ratePerS: number
  readonly say: (line: string) => void
}

const PATIENCE_MS = 90_000

export async function killBridges({ kills, seed, ratePerS, say }: StageOptions): Promise<BridgeVerdict> {
  const random = new SeededRandom(seed)
  const server = await RabbitServer.start()
  try {
    return await withTraffic(
      () => server.url,
      seed,
      ratePerS,
      async (audit, bridge) => {
        for (let i = 1; i <= kills; i += 1) {
          await sleep(300 + random.next() * 900)
          audit.killed(Date.now())
          await bridge.end('SIGKILL')
          await bridge.start()
          say(`bridge killed ${i} of ${kills}, ${audit.missing} under way`)
        }
      },
    )
  } finally {
    await server.stop()
  }
}

export async function killBrokers({ kills, seed, ratePerS, say }: StageOptions): Promise<BridgeVerdict> {
  const random = new SeededRandom(seed)
  const server = await RabbitServer.start()
  try {
    return await withTraffic(
      () => server.url,
      seed,
      ratePerS,
      async (audit) => {
        for (let i = 1; i <= kills; i += 1) {
          await sleep(1_000 + random.next() * 3_000)
          audit.killed(Date.now())
          await server.kill()
          await server.resume()
          audit.returned(Date.now())
          say(`broker killed ${i} of ${kills}, ${audit.missing} under way`)
        }
      },
    )
  } finally {
    await server.stop()
  }
}

export async function killLeaders({ kills, seed, ratePerS, say }: StageOptions): Promise<BridgeVerdict> {
  const epmd = await Epmd.start()
  const nodes: RabbitServer[] = []
  let balancer: Balancer | undefined
  try {
    for (let i = 0; i < 3; i += 1) nodes.push(await RabbitServer.start({ epmd }))
    const [first] = nodes as [RabbitServer]
    for (const node of nodes.slice(1)) {
      await node.ctl('stop_app')
      await node.ctl('join_cluster', first.name)
      await node.ctl('start_app')
    }
    say('three nodes are one cluster')
    const spread = await Balancer.over(nodes.map(({ port }) => port))
    balancer = spread
    return await withTraffic(
      () => spread.url,
      seed,
      ratePerS,
      async (audit) => {
        for (let i = 1; i <= kills; i += 1) {
          await sleep(4_000)
          const leader = await leaderOf(nodes, 'punctual.v1.default.in')
          audit.killed(Date.now())
          await leader.kill()
          say(`leader of the in queue (${leader.name}) killed ${i} of ${kills}`)
          await sleep(6_000)
          await leader.resume()
          audit.returned(Date.now())
          await until(
            'the cluster is whole',
            async () => (await leader.ctl('await_online_nodes', '3')) !== undefined,
          )
        }
      },
    )
  } finally {
    await balancer?.close()
    await Promise.all(nodes.map((node) => node.stop()))
    await epmd.stop()
  }
}

async function leaderOf(nodes: readonly RabbitServer[], queue: string): Promise<RabbitServer> {
  const [first] = nodes as [RabbitServer]
  const listed = await first.ctl('list_queues', 'name', 'leader', '--no-table-headers')
  const name = listed
    .split('\n')
    .find((line) => line.startsWith(`${queue}\t`))
    ?.split('\t')[1]
    ?.trim()
  return nodes.find((node) => node.name === name) ?? first
}

async function withTraffic(
  url: () => string,
  seed: number,
  ratePerS: number,
  storm: (audit: BridgeAudit, bridge: BridgeProcess) => Promise<void>,
): Promise<BridgeVerdict> {
  const directory = await mkdtemp(join(tmpdir(), 'punctual-chaos-bridge-'))
  const audit = new BridgeAudit()
  const bridge = new BridgeProcess(url(), `file:${directory}`)
  try {
    await Traffic.declare(url())
    await bridge.start()
    const traffic = new Traffic(url, audit, seed, ratePerS)
    traffic.begin()
    await storm(audit, bridge)
    await traffic.end(PATIENCE_MS)
    return audit.verdict()
  } finally {
    await bridge.end('SIGTERM')
    await rm(directory, { recursive: true, force: true })
  }
}
