/**
 * `@Handler` and `@InjectQueue`. What `@Handler` says is kept by class and by the name of the method, and not on the
 * function: a decorator above it that wraps the method loses nothing, and the wrapped method is what is called.
 */
import { Inject } from '@nestjs/common'
import type { AnyTopics, HandleOptions, Message, NoSchemas } from '../../index.ts'
import { DEFAULT_QUEUE } from '../../queue/settings.ts'
import type { PayloadOut, PayloadsIn, TopicName, TopicSchemas } from '../../queue/topics.ts'
import { queueToken } from './tokens.ts'

/** One `@Handler` on one method. */
export type HandlerMark = {
  readonly queue: string
  readonly topic: string
  readonly method: string | symbol
  readonly options: HandleOptions | undefined
}

/** For methods whose parameter is not tied to a topic. */
type AnyMethod = (message: never) => unknown

export type NestHandlerOptions = HandleOptions & {
  /** The name of the queue. Default `default`. */
  queue?: string
}

/** What a handler of this topic is given. */
export type MessageFor<
  T extends object,
  K extends TopicName<T, S>,
  S extends TopicSchemas = NoSchemas,
> = Message<PayloadOut<T, S, K>, PayloadsIn<T, S>>

/** The method may take no parameter, or one that the message of this topic fits. */
export type HandlerDecorator<Payload> = <M extends AnyMethod>(
  target: object,
  method: string | symbol,
  descriptor: TypedPropertyDescriptor<M> &
    (Parameters<M> extends [] | [{ readonly payload: infer Taken }]
      ? Payload extends Taken
        ? unknown
        : { readonly 'the topic has another payload than the method takes': Payload }
      : unknown),
) => void

/** The decorators of one queue, which know its topics. */
export type QueueDecorators<T extends object = AnyTopics, S extends TopicSchemas = NoSchemas> = {
  readonly Handler: <K extends TopicName<T, S>>(
    topic: K,
    options?: HandleOptions,
  ) => HandlerDecorator<PayloadOut<T, S, K>>
  readonly InjectQueue: () => PropertyDecorator & ParameterDecorator
}

const MARKS = new WeakMap<object, HandlerMark[]>()

/**
 * The decorators of a queue whose topics are known: a method for a topic that does not exist, or with a payload of another
 * type, does not compile.
 *
 *   export const { Handler, InjectQueue } = decoratorsFor<Topics>()
 */
export function decoratorsFor<T extends object = AnyTopics, S extends TopicSchemas = NoSchemas>(
  queue = DEFAULT_QUEUE,
): QueueDecorators<T, S> {
  return {
    Handler: (topic, options) => (target, method) => mark(target, { queue, topic, method, options }),
    InjectQueue: () => InjectQueue(queue),
  }
}

/** Calls this method with the messages of a topic; `decoratorsFor` makes one that knows the payloads. */
export function Handler(
  topic: string,
  { queue = DEFAULT_QUEUE, ...options }: NestHandlerOptions = {},
): <M extends AnyMethod>(
  target: object,
  method: string | symbol,
  descriptor: TypedPropertyDescriptor<M>,
) => void {
  return (target, method) => mark(target, { queue, topic, method, options })
}

export function InjectQueue(queue = DEFAULT_QUEUE): PropertyDecorator & ParameterDecorator {
  return Inject(queueToken(queue))
}

/** What this class and those that it extends were marked with; a method that was overridden counts once. */
export function marksOf(type: unknown): readonly HandlerMark[] {
  const found = new Map<string, HandlerMark>()
  let prototype: unknown = typeof type === 'function' ? type.prototype : undefined
  while (typeof prototype === 'object' && prototype !== null) {
    for (const made of MARKS.get(prototype) ?? []) {
      const name = JSON.stringify([made.queue, made.topic, String(made.method)])
      if (!found.has(name)) found.set(name, made)
    }
    prototype = Object.getPrototypeOf(prototype)
  }
  return [...found.values()]
}

function mark(prototype: object, made: HandlerMark): void {
  const marks = MARKS.get(prototype)
  if (marks === undefined) MARKS.set(prototype, [made])
  else marks.push(made)
}
