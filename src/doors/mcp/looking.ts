/** The tools that change nothing. */
import { MESSAGE_STATES } from '../../core/message.ts'
import { ahead, duration, list, moment, object, oneOf, optional, text, whole } from '../http/schema/schema.ts'
import { defineTool } from './tool.ts'

const LIST_DEFAULT = 20
const LIST_MAX = 100
/** Of a payload in a list: an agent's window is small, and `get` shows all of it. */
const PAYLOAD_LETTERS_MAX = 500

const ID = object({ id: text() })

export const LOOKING = [
  defineTool({
    name: 'stats',
    kind: 'looks',
    about: 'Counts by state and by topic, what is overdue, what ended lately, pauses and limits. Begin here.',
    takes: object({ topics: optional(list(text())) }),
    run: (queue, given) => queue.stats(given),
  }),
  defineTool({
    name: 'list',
    kind: 'looks',
    about: `Messages by state, topic, tag, key, age, moment or text in the payload; ${LIST_DEFAULT} a page, and a cursor for the next. Long payloads are cut.`,
    takes: object({
      state: optional(oneOf(...MESSAGE_STATES)),
      topic: optional(text()),
      tag: optional(text()),
      key: optional(text()),
      olderThan: optional(duration()),
      dueFrom: optional(moment()),
      dueUntil: optional(moment()),
      idPrefix: optional(text()),
      text: optional(text({ about: 'a part of the payload as JSON' })),
      limit: optional(whole({ min: 1, max: LIST_MAX })),
      cursor: optional(text()),
    }),
    run: async (queue, given) => {
      const { items, ...page } = await queue.list({ limit: LIST_DEFAULT, ...given })
      return { ...page, items: items.map((message) => ({ ...message, payload: cut(message.payload) })) }
    },
  }),
  defineTool({
    name: 'get',
    kind: 'looks',
    about: 'One message by its id: state, moments, attempts, errors, payload.',
    takes: ID,
    run: async (queue, { id }) => (await queue.get(id)) ?? { id, found: false },
  }),
  defineTool({
    name: 'why',
    kind: 'looks',
    about: 'Why a message has not started, or what became of it.',
    takes: ID,
    run: (queue, { id }) => queue.why(id),
  }),
  defineTool({
    name: 'forecast',
    kind: 'looks',
    about: 'How many messages come due when: bars of equal length from now on.',
    takes: object({
      until: ahead(),
      from: optional(ahead()),
      bars: optional(whole()),
      topic: optional(text()),
    }),
    run: (queue, given) => queue.forecast(given),
  }),
  defineTool({
    name: 'workers',
    kind: 'looks',
    about: 'Who works on the queue: topics, slots, and whether they are alive, silent or gone.',
    takes: object({}),
    run: (queue) => queue.workers(),
  }),
  defineTool({
    name: 'keys',
    kind: 'looks',
    about:
      'The keys (customers, for instance) of a topic that have something waiting, with their counts and limits.',
    takes: object({
      topic: text(),
      keys: optional(list(text())),
      limit: optional(whole({ min: 1, max: LIST_MAX })),
      cursor: optional(text()),
    }),
    run: (queue, { topic, ...given }) => queue.keys(topic, given),
  }),
  defineTool({
    name: 'doctor',
    kind: 'looks',
    about: 'What an operator should know about the store and this queue, worst first, each with its remedy.',
    takes: object({}),
    run: (queue) => queue.doctor(),
  }),
] as const

function cut(payload: unknown): unknown {
  const json = JSON.stringify(payload) ?? ''
  return json.length <= PAYLOAD_LETTERS_MAX ? payload : `${json.slice(0, PAYLOAD_LETTERS_MAX)}…`
}
