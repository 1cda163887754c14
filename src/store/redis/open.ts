/** A Redis store from a URL, or from a client that the user has already. Nothing is connected before `open()`. */
import { UsageError, describe } from '../../core/errors.ts'
import type { Store, StoreContext } from '../store.ts'
import { connectLike, connectTo, isExistingClient, type ExistingClient } from './connection.ts'
import { RedisStore } from './store.ts'
import { describeAddress, parseRedisUrl, readTimeouts, type RedisSettings } from './url.ts'

/** Settings given here win over those in the URL. */
export function openRedisStore(
  target: string | ExistingClient,
  context: StoreContext,
  settings: RedisSettings = {},
): Store {
  const now = settings.now === undefined ? {} : { now: settings.now }
  if (typeof target === 'string') {
    const { address, settings: inUrl } = parseRedisUrl(target)
    const timeouts = readTimeouts({ ...inUrl, ...settings })
    const connect = connectTo(address, timeouts.connectTimeoutMs)
    return new RedisStore(context, { ...timeouts, ...now, connect, server: describeAddress(address) })
  }
  if (!isExistingClient(target)) {
    throw new UsageError(
      'STORE_INVALID',
      `a Redis store is made from a redis:// URL or from a client of the package "redis"; this is ${describe(target)}.`,
      { value: target },
    )
  }
  const timeouts = readTimeouts(settings)
  const connect = connectLike(target, timeouts.connectTimeoutMs)
  return new RedisStore(context, { ...timeouts, ...now, connect, server: 'the Redis of the given client' })
}
