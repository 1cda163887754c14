/** One queue while the application lives: its handlers are registered and it starts at bootstrap, and it stops at shutdown. */
import type { OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common'
import { ContextIdFactory, type DiscoveryService, type ModuleRef } from '@nestjs/core'
import { UsageError } from '../../core/errors.ts'
import type { Handler, Message, Punctual } from '../../index.ts'
import { marksOf, type HandlerMark } from './decorators.ts'
import { queuesIn } from './queues.ts'

type Wrapper = ReturnType<DiscoveryService['getProviders']>[number]

type RunnerParts = {
  readonly name: string
  readonly queue: Punctual
  readonly work: boolean
  readonly discovery: DiscoveryService
  readonly ref: ModuleRef
}

export class QueueRunner implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #parts: RunnerParts

  constructor(parts: RunnerParts) {
    this.#parts = parts
  }

  /** Rejects, and with it the start of the application, when the store does not answer. */
  async onApplicationBootstrap(): Promise<void> {
    const { queue, work, name } = this.#parts
    const found = this.#handlers()
    if (!work) return
    const own = found.filter(({ mark }) => mark.queue === name)
    for (const { mark, handler } of own) queue.handle(mark.topic, handler, mark.options)
    if (own.length > 0) await queue.start()
  }

  async onApplicationShutdown(): Promise<void> {
    await this.#parts.queue.stop()
  }

  /** Of all queues: one that is marked for a queue that does not exist would wait for its messages in vain. */
  #handlers(): { readonly mark: HandlerMark; readonly handler: Handler }[] {
    const { discovery } = this.#parts
    const known = new Set(queuesIn(discovery).keys())
    const wrappers = new Set([...discovery.getProviders(), ...discovery.getControllers()])
    return [...wrappers].flatMap((wrapper) =>
      marksOf(wrapper.metatype).map((mark) => {
        if (known.has(mark.queue)) return { mark, handler: this.#handlerOf(wrapper, mark) }
        throw new UsageError(
          'HANDLER_INVALID',
          `${wrapper.name}.${String(mark.method)} handles "${mark.topic}" of a queue "${mark.queue}", which this ` +
            `application does not have; there are: ${[...known].join(', ')}. Add PunctualModule.forRoot({ queue: '${mark.queue}' }).`,
          { value: mark.queue },
        )
      }),
    )
  }

  /** A provider that lives as long as a request is made for each message, and may inject it as REQUEST. */
  #handlerOf(wrapper: Wrapper, { method }: HandlerMark): Handler {
    if (wrapper.isDependencyTreeStatic()) return (message) => call(wrapper.instance, method, message)
    const { ref } = this.#parts
    return async (message) => {
      const context = ContextIdFactory.create()
      ref.registerRequestByContextId(message, context)
      return call(await ref.resolve<object>(wrapper.token, context, { strict: false }), method, message)
    }
  }
}

function call(provider: object, method: string | symbol, message: Message): unknown {
  return (provider as Record<string | symbol, Handler>)[method]?.call(provider, message)
}
