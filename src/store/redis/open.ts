/** A Redis store from a URL, or from a client that the user has already. Nothing is connected before `open()`. */
import { admitting } from '../shared/admission.ts'
import type { Store } from '../contract/store.ts'
import type { QueuesContext, StoreContext } from '../engine.ts'
import type { ExistingClient } from './address/client.ts'
import { isClusterUrl, parseClusterUrl } from './address/cluster-url.ts'
import { ClusterStore } from './cluster/store.ts'
import { endpointLike } from './address/client-settings.ts'
import { connectBy, connectTo, type Connect } from './link/connection.ts'
import { Link } from './link/link.ts'
import { readDurability } from './replicated/durability.ts'
import { connectToPrimary } from './sentinel/primary-connection.ts'
import { PrimaryWatch } from './sentinel/primary-watch.ts'
import { describeGroup, isSentinelUrl, parseSentinelUrl } from './address/sentinel-url.ts'
import { Sentinels } from './sentinel/sentinels.ts'
import { examine } from './doctor/doctor.ts'
import { clientName, serverRoute } from './route.ts'
import { QueueKeys, tagOf } from './scripts/keys.ts'
import { RedisStore } from './store.ts'
import { type RedisSettings } from './address/options.ts'
import { readTimeouts, type Timeouts } from '../shared/url-options.ts'
import { describeAddress, parseRedisUrl } from './address/url.ts'

type RedisTarget = {
  readonly server: string
  readonly settings: RedisSettings
  readonly reach: (timeouts: Timeouts, context: QueuesContext) => Reach
}

type Reach = { readonly connect: Connect; readonly sentinels?: Sentinels; readonly watch?: PrimaryWatch }

/** Settings given here win over those in the URL. */
export function openRedisStore(
  target: string | ExistingClient,
  context: StoreContext,
  settings: RedisSettings = {},
): Store {
  if (typeof target === 'string' && isClusterUrl(target)) return openCluster(target, context, settings)
  const found = locate(target)
  const all = { ...found.settings, ...settings }
  const timeouts = readTimeouts(all)
  const durability = readDurability(all)
  const { allowed = [] } = all
  const { clock, logger, queue, random } = context
  const { connect, sentinels, watch } = found.reach(timeouts, context)
  const shared = { ...timeouts, allowed, clock, connect, durability, logger, random, server: found.server }
  const keys = new QueueKeys(tagOf(queue))
  return admitting(
    new RedisStore(context, {
      ...(settings.now === undefined ? {} : { now: settings.now }),
      keys,
      durability,
      hasKeys: true,
      route: (nonce) => {
        const route = serverRoute({ ...shared, keys, nonce, name: clientName(queue) })
        const close = (): void => {
          watch?.close()
          route.close()
        }
        return { ...route, close }
      },
      examine: ({ calls }) => examine({ calls, clock, durability, sentinels }),
    }),
  )
}

function openCluster(target: string, context: StoreContext, settings: RedisSettings): Store {
  const { settings: inUrl, ...url } = parseClusterUrl(target)
  const all = { ...inUrl, ...settings }
  return new ClusterStore(context, {
    ...readTimeouts(all),
    ...(settings.now === undefined ? {} : { now: settings.now }),
    allowed: all.allowed ?? [],
    durability: readDurability(all),
    url,
  })
}

/** A connection to the server alone, for what concerns no single queue. */
export function linkTo(target: string | ExistingClient, name: string, context: QueuesContext): ServerLink {
  const { server, settings, reach } = locate(target)
  const timeouts = readTimeouts(settings)
  const { connect, watch } = reach(timeouts, context)
  const link = new Link({ ...context, ...timeouts, name, server, connect })
  const close = (): void => {
    watch?.close()
    link.close()
  }
  return { call: (command) => link.call(command), close }
}

export type ServerLink = {
  readonly call: (command: readonly string[]) => Promise<unknown>
  readonly close: () => void
}

function locate(target: string | ExistingClient): RedisTarget {
  return typeof target === 'string' ? fromUrl(target) : fromClient(target)
}

function fromUrl(url: string): RedisTarget {
  if (!isSentinelUrl(url)) {
    const { address, settings } = parseRedisUrl(url)
    return { server: describeAddress(address), settings, reach: () => ({ connect: connectTo(address) }) }
  }
  const { group, settings } = parseSentinelUrl(url)
  const reach = (timeouts: Timeouts, context: QueuesContext): Reach => {
    const sentinels = new Sentinels(group, timeouts.connectTimeoutMs, context.clock)
    const watch = new PrimaryWatch(group, { ...context, ...timeouts })
    return { connect: connectToPrimary({ sentinels, watch }), sentinels, watch }
  }
  return { server: describeGroup(group), settings, reach }
}

function fromClient(client: ExistingClient): RedisTarget {
  const { server, ...endpoint } = endpointLike(client)
  return { server, settings: {}, reach: () => ({ connect: connectBy(endpoint) }) }
}
