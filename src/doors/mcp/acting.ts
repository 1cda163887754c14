/** The tools that change something. What may touch many messages is rehearsed first. */
import type { Filter, Punctual } from '../../index.ts'
import { filterOf } from '../../core/input/filter.ts'
import {
  ahead,
  anything,
  duration,
  moment,
  object,
  oneOf,
  optional,
  text,
  whole,
  type Checked,
} from '../http/schema/schema.ts'
import { CallError } from '../shared/failure.ts'
import { defineTool } from './tool.ts'

const WHICH = {
  id: optional(text({ about: 'one message; else the fields of a filter' })),
  topic: optional(text()),
  tag: optional(text()),
  key: optional(text()),
  olderThan: optional(duration()),
  limit: optional(whole({ min: 1 })),
}
const WAITING = { ...WHICH, state: optional(oneOf('delayed', 'ready')) }
const WHEN = { delay: optional(duration()), at: optional(moment()) }

type Which = Omit<Checked<ReturnType<typeof object<typeof WHICH>>>, 'id'> & { readonly state?: Parked }
type Parked = 'delayed' | 'ready' | 'dead'

export const ACTING = [
  defineTool({
    name: 'produce',
    kind: 'acts',
    about: 'Stores one message until its moment. Give an id of your own: producing it again changes nothing.',
    takes: object({
      topic: text(),
      payload: anything('any JSON'),
      ...WHEN,
      id: optional(text()),
      key: optional(text()),
      tag: optional(text()),
    }),
    run: async (queue, { topic, payload, delay, at, ...rest }) => {
      const when = at === undefined ? (delay === undefined ? {} : { delay }) : { at }
      if (at !== undefined && delay !== undefined) throw new CallError('give delay or at, not both.')
      return { id: await queue.produce(topic, payload, { ...rest, ...when }) }
    },
  }),
  defineTool({
    name: 'cancel',
    kind: 'acts',
    about: 'Takes a message back before it starts, or all that fit a filter.',
    takes: object(WAITING),
    rehearse: manyOf((queue, filter) => queue.cancel(filter, { dryRun: true })),
    run: async (queue, { id, ...filter }) =>
      id === undefined ? queue.cancel(filterOf(filter)) : { id, result: await queue.cancel(id) },
  }),
  defineTool({
    name: 'reschedule',
    kind: 'acts',
    about: 'Moves a message that has not started, or all that fit a filter, to another moment: delay or at.',
    takes: object({ ...WAITING, ...WHEN }),
    rehearse: (queue, { delay, at, ...which }) =>
      manyOf((asked, filter) => asked.reschedule(filter, whenOf({ delay, at }), { dryRun: true }))(
        queue,
        which,
      ),
    run: async (queue, { id, delay, at, ...filter }) =>
      id === undefined
        ? queue.reschedule(filterOf(filter), whenOf({ delay, at }))
        : { id, result: await queue.reschedule(id, whenOf({ delay, at })) },
  }),
  defineTool({
    name: 'revive',
    kind: 'acts',
    about: 'Starts a dead letter anew, due now, or all that fit a filter.',
    takes: object(WHICH),
    rehearse: manyOf((queue, filter) => queue.revive(filter, { dryRun: true })),
    run: async (queue, { id, ...filter }) => ({
      revived: await queue.revive(id === undefined ? filterOf(filter) : [id]),
    }),
  }),
  defineTool({
    name: 'purge',
    kind: 'acts',
    about:
      'Removes a message that does not run, dead letters too, or all that fit a filter. It cannot be taken back.',
    takes: object({ ...WHICH, state: optional(oneOf('delayed', 'ready', 'dead')) }),
    rehearse: manyOf((queue, filter) => queue.purge(filter, { dryRun: true })),
    run: async (queue, { id, ...filter }) => ({
      purged: await queue.purge(filterOf(id === undefined ? filter : { ids: [id] })),
    }),
  }),
  defineTool({
    name: 'pause',
    kind: 'acts',
    about: 'Nothing of this topic starts until it is resumed; without a topic, nothing of the whole queue.',
    takes: object({ topic: optional(text()), until: optional(ahead()) }),
    rehearse: wholeQueue,
    run: async (queue, { topic, until }) => {
      await queue.pause(topic, until === undefined ? {} : { until })
      return { paused: topic ?? 'the whole queue' }
    },
  }),
  defineTool({
    name: 'resume',
    kind: 'acts',
    about: 'Lets a paused topic, or the whole queue, go on. "over" spreads what waited over that time.',
    takes: object({ topic: optional(text()), over: optional(duration()) }),
    rehearse: wholeQueue,
    run: async (queue, { topic, over }) => {
      await queue.resume(topic, over === undefined ? {} : { over })
      return { resumed: topic ?? 'the whole queue' }
    },
  }),
] as const

/** By an id it is about one message, and needs no rehearsal. */
function manyOf(
  dryRun: (queue: Punctual, filter: Filter) => Promise<object | number>,
): (queue: Punctual, given: Which & { readonly id?: string | undefined }) => Promise<object | undefined> {
  return async (queue, { id, ...filter }) => {
    if (id !== undefined) {
      if (Object.keys(filter).length > 0)
        throw new CallError('give an id, or the fields of a filter; not both.')
      return undefined
    }
    const would = await dryRun(queue, filterOf(filter))
    return { wouldChange: would }
  }
}

async function wholeQueue(
  queue: Punctual,
  { topic }: { readonly topic?: string | undefined },
): Promise<object | undefined> {
  if (topic !== undefined) return undefined
  const { counts } = await queue.stats({ topics: [] })
  return { wouldConcern: { delayed: counts.delayed, ready: counts.ready } }
}

type NewMoment = { readonly delay?: number | `${number}s` | undefined; readonly at?: number | undefined }

function whenOf({ delay, at }: NewMoment): { delay: number | `${number}s` } | { at: number } {
  if (at !== undefined && delay === undefined) return { at }
  if (delay !== undefined && at === undefined) return { delay }
  throw new CallError('give delay or at, and not both.')
}
