/** From what `handle` is given to a lane: a topic that may be used, a function, and its options. */
import { UsageError, describe } from '../core/errors.ts'
import { parseHandleOptions } from '../core/input/handle-options.ts'
import type { Handler } from '../runtime/handler.ts'
import { Lane } from '../runtime/runs/lane.ts'
import type { Lanes } from '../runtime/runs/lanes.ts'
import { checkDeclared } from './draft.ts'
import type { Settings } from './settings.ts'

/** A star that stands for a name or for a part of one: it would wait for a topic that is called so. */
const PATTERN = /(^|[.:/])\*+($|[.:/])/

export type HandleCall = { readonly topic: string; readonly handler: Handler; readonly options: unknown }

export function makeLane(settings: Settings, lanes: Lanes, { topic, handler, options }: HandleCall): Lane {
  checkDeclared(settings, topic)
  if (PATTERN.test(topic)) {
    throw new UsageError(
      'TOPIC_INVALID',
      `topic is ${describe(topic)}, and a handler takes one topic, by its name; there are no patterns. Call handle for each topic.`,
      { value: topic },
    )
  }
  if (typeof handler !== 'function') {
    throw new UsageError(
      'HANDLER_INVALID',
      `the handler of "${topic}" is ${describe(handler)}; give a function.`,
      { value: handler },
    )
  }
  if (lanes.get(topic) !== undefined) {
    throw new UsageError(
      'HANDLER_EXISTS',
      `"${topic}" has a handler already; a topic has one per queue. Do both in one function, or give the second a topic of its own.`,
      {
        value: topic,
      },
    )
  }
  const { clock, concurrency, timeoutMs, retry, schemas, windows } = settings
  const called = clock.watch?.(handler) ?? handler
  const defaults = { concurrency, timeoutMs, retry }
  const parsed = parseHandleOptions(options, defaults, { now: clock.now(), book: windows })
  return new Lane(topic, called, parsed, { schema: schemas?.get(topic) })
}
