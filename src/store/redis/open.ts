/** A Redis store from a URL, or from a client that the user has already. Nothing is connected before `open()`. */
import { UsageError, describe } from '../../core/errors.ts'
import type { Store } from '../contract/store.ts'
import type { StoreContext } from '../engine.ts'
import {
  connectLike,
  connectTo,
  isExistingClient,
  type Connect,
  type ExistingClient,
} from './link/connection.ts'
import { readDurability } from './replicated/durability.ts'
import { connectToPrimary } from './sentinel/primary-connection.ts'
import { PrimaryWatch } from './sentinel/primary-watch.ts'
import { describeGroup, isSentinelUrl, parseSentinelUrl } from './address/sentinel-url.ts'
import { Sentinels } from './sentinel/sentinels.ts'
import { RedisStore } from './store.ts'
import { readTimeouts, type RedisSettings, type Timeouts } from './address/options.ts'
import { describeAddress, parseRedisUrl } from './address/url.ts'

type Target = {
  readonly server: string
  readonly settings: RedisSettings
  readonly reach: (timeouts: Timeouts, context: StoreContext) => Reach
}

type Reach = { readonly connect: Connect; readonly sentinels?: Sentinels; readonly watch?: PrimaryWatch }

/** Settings given here win over those in the URL. */
export function openRedisStore(
  target: string | ExistingClient,
  context: StoreContext,
  settings: RedisSettings = {},
): Store {
  const found = typeof target === 'string' ? fromUrl(target) : fromClient(target)
  const all = { ...found.settings, ...settings }
  const timeouts = readTimeouts(all)
  return new RedisStore(context, {
    ...timeouts,
    ...(settings.now === undefined ? {} : { now: settings.now }),
    ...found.reach(timeouts, context),
    durability: readDurability(all),
    server: found.server,
  })
}

function fromUrl(url: string): Target {
  if (!isSentinelUrl(url)) {
    const { address, settings } = parseRedisUrl(url)
    const reach = ({ connectTimeoutMs }: Timeouts): Reach => ({
      connect: connectTo(address, connectTimeoutMs),
    })
    return { server: describeAddress(address), settings, reach }
  }
  const { group, settings } = parseSentinelUrl(url)
  const reach = (timeouts: Timeouts, context: StoreContext): Reach => {
    const { connectTimeoutMs } = timeouts
    const sentinels = new Sentinels(group, connectTimeoutMs, context.clock)
    const watch = new PrimaryWatch(group, { ...context, ...timeouts })
    return { connect: connectToPrimary({ sentinels, watch, connectTimeoutMs }), sentinels, watch }
  }
  return { server: describeGroup(group), settings, reach }
}

function fromClient(client: ExistingClient): Target {
  if (!isExistingClient(client)) {
    throw new UsageError(
      'STORE_INVALID',
      `a Redis store is made from a redis:// URL or from a client of the package "redis"; this is ${describe(client)}.`,
      { value: client },
    )
  }
  const reach = ({ connectTimeoutMs }: Timeouts): Reach => ({
    connect: connectLike(client, connectTimeoutMs),
  })
  return { server: 'the Redis of the given client', settings: {}, reach }
}
