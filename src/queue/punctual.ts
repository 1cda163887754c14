/**
 * The composition root: the only file that knows every engine. An engine is loaded when a queue asks for it, so that
 * nobody pays for those they do not use.
 */
import { UsageError, describe, urlWithoutPasswords } from '../core/errors.ts'
import type { TopicSchemas } from '../core/input/schema.ts'
import { Queue } from './queue.ts'
import {
  isStore,
  parseSettings,
  type ExistingClient,
  type PunctualOptions,
  type Settings,
} from './settings.ts'
import type { Store } from '../store/contract/store.ts'
import type { AnyTopics, NoSchemas } from './topics.ts'

type Engine = (url: string, settings: Settings) => Promise<Store>

const ENGINES: Readonly<Record<string, Engine>> = {
  'file:': async (url, context) => {
    const { openFileStore } = await import('../store/file/open.ts')
    return openFileStore(url, context)
  },
  'redis:': openRedis,
  'rediss:': openRedis,
  'redis+sentinel:': openRedis,
  'rediss+sentinel:': openRedis,
  'memory:': async (_url, { clock }) => {
    const { MemoryStore } = await import('../store/memory/store.ts')
    return new MemoryStore(clock)
  },
}

async function openRedis(target: string | ExistingClient, settings: Settings): Promise<Store> {
  const { openRedisStore } = await import('../store/redis/open.ts')
  return openRedisStore(target, settings, settings.durability)
}

/**
 * A delayed-message queue.
 *
 *   const queue = new Punctual<{ 'order.close': { orderId: number } }>()
 *   await queue.produce('order.close', { orderId: 42 }, { delay: '30m' })
 */
export class Punctual<T extends object = AnyTopics, S extends TopicSchemas = NoSchemas> extends Queue<T, S> {
  constructor(options?: string | PunctualOptions<S>) {
    const settings = parseSettings(options)
    super(settings, makerFor(settings))
  }
}

/** Fails here, in the constructor, when no engine understands the URL. */
function makerFor(settings: Settings): () => Promise<Store> {
  const { store: given } = settings
  if (isStore(given)) {
    refuseDurability(settings, 'a store object')
    return () => Promise.resolve(given)
  }
  if (typeof given !== 'string') return () => openRedis(given, settings)
  const scheme = /^[a-z+]+:/.exec(given)?.[0] ?? ''
  const engine = ENGINES[scheme]
  if (engine !== undefined && engine !== openRedis) refuseDurability(settings, scheme)
  if (engine === undefined) {
    const shown = urlWithoutPasswords(given)
    throw new UsageError(
      'STORE_URL_INVALID',
      `store is ${describe(shown)}; it begins with one of: ${Object.keys(ENGINES).join(', ')}.`,
      { value: shown },
    )
  }
  return () => engine(given, settings)
}

/** Rejects at once where it is certain that nobody answers; whoever has time simply opens the queue. */
export async function checkReachable(url: string): Promise<void> {
  if (!/^rediss?:/.test(url)) return
  const { probe } = await import('../store/redis/link/probe.ts')
  await probe(url)
}

/** Only Redis has a choice to make; elsewhere the option would be one that nothing reads. */
function refuseDurability({ durability }: Settings, engine: string): void {
  if (durability === undefined) return
  throw new UsageError(
    'OPTION_INVALID',
    `durability is given with ${engine}; only a Redis store has this option, so leave it out.`,
    { value: durability },
  )
}

/** Whether a URL names something that is there already, as far as that can be known without making it. */
export async function storeExists(url: string): Promise<boolean> {
  if (!url.startsWith('file:')) return true
  const { fileStoreExists } = await import('../store/file/open.ts')
  return fileStoreExists(url)
}
