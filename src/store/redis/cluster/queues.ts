/** The queues of a cluster: each is written down on at least two masters, with the number of its partitions. */
import { clientName } from '../route.ts'
import type { QueueList, QueuesContext } from '../../engine.ts'
import { describeCluster, parseClusterUrl } from '../address/cluster-url.ts'
import { readTimeouts } from '../../shared/url-options.ts'
import { scanNames } from '../queues.ts'
import { LAYOUT_PATTERN, queueOfLayout } from './layout.ts'
import { ClusterRouter } from './router.ts'

export async function listClusterQueues(target: string, context: QueuesContext): Promise<QueueList> {
  const { settings, ...url } = parseClusterUrl(target)
  const router = new ClusterRouter({
    ...context,
    ...readTimeouts(settings),
    name: clientName('queues'),
    address: url,
    server: describeCluster(url),
    durability: { kind: 'primary' },
    partitions: 1,
  })
  try {
    // Where the cluster is not known yet, this waits until it is.
    await router.call({ slot: 0, line: 'calls', command: ['PING'], fence: ['', ''] })
    const found = await Promise.all(
      router.masters().map((node) => scanNames(node.calls, LAYOUT_PATTERN, queueOfLayout)),
    )
    const names = new Set(found.flatMap((one) => [...one.names]))
    return { names: [...names].toSorted(), isComplete: found.every(({ isComplete }) => isComplete) }
  } finally {
    router.close()
  }
}
