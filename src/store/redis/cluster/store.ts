/**
 * A queue on a Redis Cluster: each partition is a queue as on one server, under a hash tag of its own, so that each of its
 * calls is one script on one master. Partitions share the connections to the masters; which master has which of them is the
 * cluster's own affair, and moving them the operator's.
 */
import { admitting } from '../../shared/admission.ts'
import { isUnavailable } from '../../../core/errors.ts'
import { worstFirst } from '../../contract/findings.ts'
import type { Finding, Store } from '../../contract/store.ts'
import type { StoreContext } from '../../engine.ts'
import { PartitionedStore } from '../../partitioned/store.ts'
import type { Timeouts } from '../../shared/url-options.ts'
import type { RedisSettings } from '../address/options.ts'
import { describeCluster, type ClusterUrl } from '../address/cluster-url.ts'
import { parseInfo } from '../doctor/questions.ts'
import { examineCluster } from '../doctor/cluster.ts'
import { fenceOf } from '../replicated/confirmed-writes.ts'
import type { Durability } from '../replicated/durability.ts'
import type { Consent } from '../../shared/suited.ts'
import { refuseProducts } from '../products.ts'
import { clientName, type Route } from '../route.ts'
import type { Calls } from '../scripts/calls.ts'
import { QueueKeys, tagOf } from '../scripts/keys.ts'
import { RedisStore } from '../store.ts'
import { agreeOnLayout } from './layout.ts'
import type { NodeLine } from './node.ts'
import { ClusterRouter } from './router.ts'
import { partitionTag, slotOf } from './slots.ts'
import { ClusterWakeups } from './wakeups.ts'

/** The first version with channels that belong to a slot. Before, each wake-up is told to every node. */
const SHARDED_SINCE = 7

export type ClusterOptions = Timeouts & {
  readonly url: Omit<ClusterUrl, 'settings'>
  readonly durability: Durability
  readonly allowed: readonly Consent[]
  readonly now?: RedisSettings['now']
}

/** What all partitions have together. */
type Shared = {
  readonly router: ClusterRouter
  readonly wakeups: ClusterWakeups
  readonly wakes: { isSharded: boolean }
}

export class ClusterStore extends PartitionedStore {
  readonly #context: StoreContext
  readonly #options: ClusterOptions
  readonly #shared: Shared

  constructor(context: StoreContext, options: ClusterOptions) {
    const shared = share(context, options)
    super(makePartitions(context, options, shared))
    this.#context = context
    this.#options = options
    this.#shared = shared
  }

  override async open(): Promise<void> {
    const { queue } = this.#context
    const { router, wakes } = this.#shared
    const callAt = (tag: string, command: readonly string[]): Promise<unknown> =>
      router.call({ slot: slotOf(tag), line: 'calls', command, fence: ['', ''] })
    await refuseProducts({ call: (command) => callAt(tagOf(queue), command) }, this.#options.allowed)
    await agreeOnLayout(queue, this.#options.url.partitions, callAt)
    wakes.isSharded = await this.#hasShardedChannels()
    await Promise.all(
      router.masters().map((node) =>
        node.open().catch((error: unknown) => {
          if (!isUnavailable(error)) throw error // One that is away is asked by the first call that needs it.
        }),
      ),
    )
    await super.open()
  }

  override async close(): Promise<void> {
    this.#shared.wakeups.close()
    this.#shared.router.close()
    await super.close()
  }

  override async doctor(): Promise<Finding[]> {
    const { clock } = this.#context
    const { durability } = this.#options
    const { router } = this.#shared
    const [partitions, masters] = await Promise.all([
      super.doctor(),
      examineCluster({ router, clock, durability, stores: this.partitions.stores }),
    ])
    // What is fine in each of them is one line.
    const wrong = partitions.filter(({ level }) => level !== 'fine')
    return worstFirst([...wrong, ...masters])
  }

  /** The word of any master: all have the same version, but for the time of an upgrade. */
  async #hasShardedChannels(): Promise<boolean> {
    const asked = this.#shared.router.masters().map((node) => node.calls.call(['INFO', 'server']))
    // A user that may not ask is believed to have a server of today.
    const info = await Promise.any(asked).catch(() => '')
    const fields = parseInfo(String(info))
    const [major] = (
      fields.get('valkey_version') ??
      fields.get('redis_version') ??
      String(SHARDED_SINCE)
    ).split('.')
    return Number(major) >= SHARDED_SINCE
  }
}

function share(context: StoreContext, options: ClusterOptions): Shared {
  const { clock, logger, queue, random } = context
  const { callTimeoutMs, connectTimeoutMs, durability, url } = options
  const wakes = { isSharded: true }
  const common = { clock, logger, random, callTimeoutMs, connectTimeoutMs, name: clientName(queue) }
  const router = new ClusterRouter({
    ...common,
    address: url,
    server: describeCluster(url),
    durability,
    partitions: url.partitions,
  })
  const wakeups = new ClusterWakeups({ ...common, router, isSharded: () => wakes.isSharded })
  return { router, wakeups, wakes }
}

function makePartitions(context: StoreContext, options: ClusterOptions, shared: Shared): Store[] {
  const { durability, now, url } = options
  return Array.from({ length: url.partitions }, (_, partition) => {
    const tag = partitionTag(context.queue, partition, url.partitions)
    const keys = new QueueKeys(tag, () => shared.wakes.isSharded)
    return admitting(
      new RedisStore(context, {
        ...(now === undefined ? {} : { now }),
        keys,
        durability,
        hasKeys: false,
        route: (nonce) => routeTo(slotOf(tag), keys, nonce, durability, shared),
        examine: () => Promise.resolve([]), // Servers have many partitions, and are examined once.
      }),
    )
  })
}

function routeTo(
  slot: number,
  keys: QueueKeys,
  nonce: string,
  durability: Durability,
  { router, wakeups }: Shared,
): Route {
  const fence = fenceOf(keys)
  let isClosed = false
  const on = (line: NodeLine): Calls => ({
    call: (command) =>
      isClosed ? Promise.reject(router.closedError()) : router.call({ slot, line, command, fence }),
  })
  const calls = on('calls')
  return {
    calls,
    writes: durability.kind === 'replicated' ? on('writes') : calls,
    wakeups: wakeups.partition(slot, () => keys.channelsOf(nonce)),
    open: () => Promise.resolve(),
    // The connections are those of all partitions.
    close: () => {
      isClosed = true
    },
  }
}
