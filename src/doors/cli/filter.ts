/** Messages by a filter: the options that say which, the question before many of them are changed, and the progress. */
import type { FilterParts } from '../../core/input/filter.ts'
import type { Duration, Filter, FilterOptions, MessageState, Punctual } from '../../index.ts'
import { CallError } from '../shared/failure.ts'
import type { Call, OptionSpecs, Values } from './command.ts'
import { confirm } from './terminal/confirm.ts'
import { formatCount, plural } from './terminal/format.ts'
import { Progress } from './terminal/progress.ts'
import { parseState, parseWholeNumber } from './values.ts'

/** Which messages. */
export const WHICH_OPTIONS = {
  topic: { type: 'string', value: 'TOPIC', help: 'only messages of this topic' },
  tag: { type: 'string', value: 'TAG', help: 'only messages with this tag' },
  key: { type: 'string', value: 'KEY', help: 'only messages of this key' },
  'older-than': {
    type: 'string',
    value: 'DURATION',
    help: 'dead for this long, or produced this long ago: 30m, 7d',
  },
} as const satisfies OptionSpecs

/** What is to be done with them. */
export const CHANGE_OPTIONS = {
  limit: { type: 'string', value: 'N', help: 'at most so many' },
  'dry-run': { type: 'boolean', help: 'change nothing, say how many it would be' },
  yes: { type: 'boolean', short: 'y', help: 'do not ask' },
} as const satisfies OptionSpecs

export type WhichValues = Values<typeof WHICH_OPTIONS>
type ChangeValues = WhichValues & Values<typeof CHANGE_OPTIONS> & { readonly state?: string }

export type Selected = Exclude<Filter, { ids: readonly string[] }>

/** Undefined: no filter was given. `states`: those that the command can change. */
export function parseSelected(values: ChangeValues, states: readonly MessageState[]): Selected | undefined {
  const { state, limit } = values
  const which = parseWhich(values)
  const { olderThan, ...named } = which
  if (state === undefined && Object.keys(named).length === 0) {
    if (olderThan === undefined && limit === undefined) return undefined
    throw new CallError('--older-than and --limit go with --state, --topic, --tag or --key.')
  }
  const parts: FilterParts = {
    ...which,
    ...(state === undefined ? {} : { state: parseState(state, states) }),
    ...(limit === undefined
      ? {}
      : { limit: parseWholeNumber(limit, '--limit', { min: 1, max: Number.MAX_SAFE_INTEGER }) }),
  }
  return parts as Selected // It names a part, as was looked at above.
}

/** The library checks the duration itself. */
export function parseWhich({ topic, tag, key, 'older-than': olderThan }: WhichValues): FilterParts {
  return {
    ...(topic === undefined ? {} : { topic }),
    ...(tag === undefined ? {} : { tag }),
    ...(key === undefined ? {} : { key }),
    ...(olderThan === undefined ? {} : { olderThan: olderThan as Duration }),
  }
}

/** Either ids or a filter, never neither. */
export function checkEither(ids: readonly string[], filter: Selected | undefined, how: string): void {
  if (ids.length > 0 === (filter === undefined)) return
  throw new CallError(ids.length > 0 ? `give ids, or ${how}; not both.` : `give ids, or ${how}.`)
}

/** Asks unless told not to; false: the answer was no. */
export async function isConfirmed(
  call: Pick<Call, 'input' | 'queueName' | 'storeName'> & { readonly values: ChangeValues },
  question: (where: string) => Promise<string>,
): Promise<boolean> {
  if (call.values.yes === true || call.values['dry-run'] === true) return true
  return confirm(await question(`queue "${call.queueName}" in ${call.storeName}`), call.input)
}

/** "3 dead messages of topic "mail.send"": with their number where that is cheap to know. */
export async function describeSelected(queue: Punctual, filter: Selected, noun: string): Promise<string> {
  const { state, topic, tag, key, olderThan, limit } = filter
  const about = [
    ...(topic === undefined ? [] : [`of topic "${topic}"`]),
    ...(tag === undefined ? [] : [`with tag "${tag}"`]),
    ...(key === undefined ? [] : [`of key "${key}"`]),
    ...(olderThan === undefined ? [] : [`older than ${olderThan}`]),
  ]
  const count = limit === undefined ? await countOf(queue, filter) : undefined
  const which = limit === undefined ? 'all' : `up to ${formatCount(limit)}`
  const named = state === undefined ? noun : `${state} ${noun}`
  const what = count === undefined ? `${which} ${named}s` : plural(count, named)
  return [what, ...about].join(' ')
}

/** A topic's messages are counted without telling delayed from ready, and ages not at all. */
async function countOf(
  queue: Punctual,
  { state, topic, tag, key, olderThan }: Selected,
): Promise<number | undefined> {
  if (state === undefined || [tag, key, olderThan].some((part) => part !== undefined)) return undefined
  const { counts, topics, missing } = await queue.stats({ topics: topic === undefined ? [] : [topic] })
  if (missing !== undefined) return undefined // A number would leave out what these hold.
  if (topic === undefined) return counts[state]
  return state === 'dead' ? (topics[topic]?.dead ?? 0) : undefined
}

/** Does it with a progress on the terminal. */
export async function withProgress<T>(
  { err, clock, values }: Pick<Call, 'err' | 'clock'> & { readonly values: ChangeValues },
  change: (options: FilterOptions) => Promise<T>,
): Promise<T> {
  const progress = new Progress(err, clock)
  try {
    return await change({
      dryRun: values['dry-run'] === true,
      onProgress: ({ looked }) => progress.update({ done: looked }),
    })
  } finally {
    progress.end()
  }
}

/** "12 messages cancelled; 3 run and were left alone". */
export function sayChanged(
  count: number,
  done: string,
  { isDryRun, running = 0 }: { readonly isDryRun: boolean; readonly running?: number },
): string {
  const what = `${plural(count, 'message')} ${isDryRun ? `would be ${done}` : done}`
  const left = isDryRun ? 'would be left alone' : `${running === 1 ? 'was' : 'were'} left alone`
  return running === 0
    ? what
    : `${what}; ${formatCount(running)} ${running === 1 ? 'runs' : 'run'} and ${left}`
}
