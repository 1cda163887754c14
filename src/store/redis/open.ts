/** A Redis store from a URL, or from a client that the user has already. Nothing is connected before `open()`. */
import { UsageError, describe } from '../../core/errors.ts'
import type { Store } from '../contract/store.ts'
import type { QueuesContext, StoreContext } from '../engine.ts'
import { isExistingClient, type ExistingClient } from './address/client.ts'
import { connectLike, connectTo, type Connect } from './link/connection.ts'
import { Link } from './link/link.ts'
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
  readonly reach: (timeouts: Timeouts, context: QueuesContext) => Reach
}

type Reach = { readonly connect: Connect; readonly sentinels?: Sentinels; readonly watch?: PrimaryWatch }

/** Settings given here win over those in the URL. */
export function openRedisStore(
  target: string | ExistingClient,
  context: StoreContext,
  settings: RedisSettings = {},
): Store {
  const found = locate(target)
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

function locate(target: string | ExistingClient): Target {
  return typeof target === 'string' ? fromUrl(target) : fromClient(target)
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
  const reach = (timeouts: Timeouts, context: QueuesContext): Reach => {
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
