/** Where the handlers of a worker come from: a module, commands, addresses. One handler per topic. */
import { describe } from '../../../core/errors.ts'
import { CallError } from '../../shared/failure.ts'
import { execHandler } from './exec.ts'
import { loadHandlers, type LoadedHandler } from './load.ts'
import { webhookHandler } from './webhook.ts'

export type Sources = {
  readonly file: string | undefined
  readonly exec: readonly string[]
  readonly webhook: readonly string[]
}

export async function gatherHandlers({ file, exec, webhook }: Sources): Promise<LoadedHandler[]> {
  const outside = [
    ...exec.map((text) => fromPair('--exec', text, execHandler)),
    ...webhook.map((text) => fromPair('--webhook', text, webhookHandler)),
  ]
  const inside = file === undefined ? [] : await loadHandlers(file)
  const handlers = [...inside, ...outside]
  if (handlers.length === 0) throw new CallError('nothing to do; give FILE, --exec or --webhook.')
  const topics = handlers.map(({ topic }) => topic)
  const twice = topics.find((topic, i) => topics.indexOf(topic) !== i)
  if (twice !== undefined) throw new CallError(`${describe(twice)} has two handlers; a topic has one.`)
  return handlers
}

/** `TOPIC=REST`; the rest may hold more equals signs. */
function fromPair(
  option: string,
  text: string,
  make: (rest: string) => LoadedHandler['handler'],
): LoadedHandler {
  const at = text.indexOf('=')
  if (at < 1)
    throw new CallError(
      `${option} is ${describe(text)}; write ${option} TOPIC=${option === '--exec' ? 'COMMAND' : 'URL'}.`,
    )
  return { topic: text.slice(0, at), handler: make(text.slice(at + 1)), options: {} }
}
