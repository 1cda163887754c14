import { defineCommand } from '../command.ts'
import { EXIT } from '../../shared/failure.ts'
import { formatDistance } from '../terminal/format.ts'
import { formatMoment } from '../../shared/moment.ts'
import { parseAheadText } from '../values.ts'
import { controlledName } from './resume.ts'

export const pause = defineCommand({
  name: 'pause',
  summary: 'start no more messages of a topic, or of the whole queue, in any process',
  operands: '[TOPIC]',
  arity: [0, 1],
  options: {
    until: {
      type: 'string',
      value: 'WHEN',
      help: 'when it ends by itself: 30m, or 2030-01-01T09:00Z; default: when you resume it',
    },
  },
  examples: [
    ['punctual pause mail.send', 'the mail server is down: what is due waits'],
    ['punctual pause mail.send --until 30m', 'it will go on by itself'],
    ['punctual pause', 'the whole queue'],
  ],
  notes: [
    'What runs goes on, delays go on elapsing, and messages can be produced. "stats" and "doctor" show what is paused.',
  ],
  makesStore: false,
  run: async ({ positionals, values, open, out, json, clock }) => {
    const [topic] = positionals
    const now = clock.now()
    const until = values.until === undefined ? undefined : parseAheadText(values.until, '--until', now)
    await open().pause(topic, until === undefined ? {} : { until })
    const end = until === undefined ? {} : { until }
    if (json) out.json({ ...(topic === undefined ? {} : { topic }), paused: end })
    else if (until === undefined) out.line(`${controlledName(topic)}: paused until you resume it`)
    else
      out.line(
        `${controlledName(topic)}: paused until ${formatMoment(until)} (${formatDistance(until, now)})`,
      )
    return EXIT.fine
  },
})
