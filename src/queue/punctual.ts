/** The front door: a queue together with the engine that its options name. */
import { UsageError } from '../core/errors.ts'
import type { TopicSchemas } from '../core/input/schema.ts'
import { systemClock } from '../clock.ts'
import { systemRandom } from '../random.ts'
import type { QueueList } from '../store/engine.ts'
import { DEFAULT_STORE, type EngineClient } from '../store/engines.ts'
import { chooseStore, parseSettings, silentLogger, type PunctualOptions } from './settings.ts'
import type { AnyTopics, NoSchemas } from './topics.ts'
import { TransactingQueue } from './changing/transactions.ts'

/**
 * A delayed-message queue.
 *
 *   const queue = new Punctual<{ 'order.close': { orderId: number } }>()
 *   await queue.produce('order.close', { orderId: 42 }, { delay: '30m' })
 */
export class Punctual<
  T extends object = AnyTopics,
  S extends TopicSchemas = NoSchemas,
> extends TransactingQueue<T, S> {
  /** Fails at once when no engine understands the options. */
  constructor(options?: string | PunctualOptions<S>) {
    const settings = parseSettings(options)
    const { store } = settings
    super(settings, async () =>
      store.kind === 'given' ? store.store : store.engine.open(store.target, settings, store.options),
    )
  }

  /** The names of the queues in a store; nothing is made there. */
  static async queues(store: string | EngineClient = DEFAULT_STORE): Promise<QueueList> {
    const choice = chooseStore(store)
    if (choice.kind === 'given') {
      throw new UsageError(
        'UNSUPPORTED',
        'a store object holds one queue; give the URL of a store instead.',
        {
          value: store,
        },
      )
    }
    const context = { clock: systemClock, random: systemRandom, logger: silentLogger }
    return choice.engine.queues(choice.target, context)
  }
}
