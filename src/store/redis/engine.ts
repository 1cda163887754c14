import type { Engine } from '../engine.ts'
import { isExistingClient, type ExistingClient } from './address/client.ts'
import { parseDurability, type DurabilityOption, type DurabilitySettings } from './replicated/durability.ts'

export type { ExistingClient } from './address/client.ts'
export type { DurabilityOption } from './replicated/durability.ts'

/** What a Redis store adds to the options of a queue. */
export type RedisOptions = {
  /**
   * Of servers. `replicated`: a write is acknowledged when a replica has it too. Default `primary`. An object is for Redis
   * only.
   */
  durability?: DurabilityOption
}

export const redis: Engine<ExistingClient> = {
  name: 'redis',
  schemes: ['redis:', 'rediss:', 'redis+sentinel:', 'rediss+sentinel:', 'redis+cluster:', 'rediss+cluster:'],
  urls: ['redis://HOST:PORT', 'redis+sentinel://HOSTS/NAME', 'redis+cluster://HOSTS'],
  example: 'redis://localhost:6379',
  help: 'messages live in a Redis or Valkey, shared by processes on many machines',
  reach: 'network',
  options: {
    durability: {
      help: 'what an acknowledged write has reached: primary (default), replicated, or { replicas, timeout }',
      parse: parseDurability,
    },
  },
  client: { what: 'a client of the package "redis"', accepts: isExistingClient },
  open: async (target, context, { durability }) => {
    const { openRedisStore } = await import('./open.ts')
    return openRedisStore(target, context, durability as DurabilitySettings | undefined)
  },
  exists: () => Promise.resolve(true),
  probe: async (url) => {
    // Sentinels and nodes that are away say nothing about the others.
    if (/^rediss?\+/i.test(url)) return
    const { probe } = await import('./link/probe.ts')
    await probe(url)
  },
  queues: async (target, context) => {
    if (typeof target === 'string' && /^rediss?\+cluster:/i.test(target)) {
      const { listClusterQueues } = await import('./cluster/queues.ts')
      return listClusterQueues(target, context)
    }
    const { listQueues } = await import('./queues.ts')
    return listQueues(target, context)
  },
  migrate: () => Promise.resolve(undefined),
  foreign: [
    {
      name: 'bullmq',
      prefix: 'bull',
      open: async (url, where, context) =>
        (await import('./foreign/bullmq.ts')).openBullmq(url, where, context),
    },
    {
      name: 'bee-queue',
      prefix: 'bq',
      open: async (url, where, context) =>
        (await import('./foreign/bee-queue.ts')).openBee(url, where, context),
    },
  ],
}
