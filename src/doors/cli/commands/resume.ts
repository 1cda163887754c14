import type { Duration } from '../../../index.ts'
import { defineCommand } from '../command.ts'
import { EXIT } from '../../shared/failure.ts'
import { printable } from '../../shared/printable.ts'

export const resume = defineCommand({
  name: 'resume',
  summary: 'let messages of a topic, or of the whole queue, start again',
  operands: '[TOPIC]',
  arity: [0, 1],
  options: {
    over: {
      type: 'string',
      value: 'DURATION',
      help: 'spread what is due, and what comes due meanwhile, over this time: 10m',
    },
  },
  examples: [
    ['punctual resume mail.send', 'all that is due may start at once'],
    ['punctual resume mail.send --over 10m', 'evenly within ten minutes'],
    ['punctual resume', 'the whole queue; topics that were paused by name stay paused'],
  ],
  makesStore: false,
  run: async ({ positionals, values: { over }, open, out, json }) => {
    const [topic] = positionals
    await open().resume(topic, over === undefined ? {} : { over: over as Duration })
    const spread = over === undefined ? {} : { over }
    if (json) out.json({ ...(topic === undefined ? {} : { topic }), resumed: spread })
    else
      out.line(
        `${controlledName(topic)}: resumed${over === undefined ? '' : `, what is due is spread over ${over}`}`,
      )
    return EXIT.fine
  },
})

export function controlledName(topic: string | undefined): string {
  return topic === undefined ? 'the whole queue' : printable(topic)
}
