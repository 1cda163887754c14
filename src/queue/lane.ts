/** A topic and its handler, checked, as the worker will run it. */
import { UsageError, describe } from '../core/errors.ts'
import { parseHandleOptions } from '../core/input/handle-options.ts'
import type { Handler } from '../runtime/handler.ts'
import { Lane, type Lanes } from '../runtime/runs/lanes.ts'
import { checkDeclared } from './draft.ts'
import type { Settings } from './settings.ts'

export function makeLane(
  settings: Settings,
  lanes: Lanes,
  { topic, handler, options }: { topic: string; handler: unknown; options: unknown },
): Lane {
  checkDeclared(settings, topic)
  if (typeof handler !== 'function') {
    throw new UsageError(
      'HANDLER_INVALID',
      `the handler of "${topic}" is ${describe(handler)}; give a function.`,
      { value: handler },
    )
  }
  if (lanes.get(topic) !== undefined) {
    throw new UsageError('HANDLER_EXISTS', `"${topic}" has a handler already; a topic has one per queue.`, {
      value: topic,
    })
  }
  const { concurrency, timeoutMs, retry, schemas } = settings
  const handling = parseHandleOptions(options, { concurrency, timeoutMs, retry })
  return new Lane(topic, handler as Handler, handling, schemas?.get(topic))
}
