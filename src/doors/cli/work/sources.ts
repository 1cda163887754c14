/** Where the handlers of a worker come from: a module, commands, addresses. One handler per topic. */
import { describe } from '../../../core/errors.ts'
import { CallError } from '../../shared/failure.ts'
import { execHandler } from './exec.ts'
import { loadHandlers, type LoadedHandler } from './load.ts'
import { splitPair } from './webhooks.ts'

export type Sources = {
  readonly file: string | undefined
  readonly exec: readonly string[]
  readonly webhooks: readonly LoadedHandler[]
}

export async function gatherHandlers({ file, exec, webhooks }: Sources): Promise<LoadedHandler[]> {
  const commands = exec.map((text): LoadedHandler => {
    const { topic, rest } = splitPair('--exec', text, 'COMMAND')
    return { topic, handler: execHandler(rest), options: {} }
  })
  const inside = file === undefined ? [] : await loadHandlers(file)
  const handlers = [...inside, ...commands, ...webhooks]
  if (handlers.length === 0) throw new CallError('nothing to do; give FILE, --exec or --webhook.')
  return checkTopicsOnce(handlers)
}

export function checkTopicsOnce(handlers: LoadedHandler[]): LoadedHandler[] {
  const topics = handlers.map(({ topic }) => topic)
  const twice = topics.find((topic, i) => topics.indexOf(topic) !== i)
  if (twice !== undefined) throw new CallError(`${describe(twice)} has two handlers; a topic has one.`)
  return handlers
}
