import { createInterface } from 'node:readline'
import { systemRandom } from '../../../random.ts'
import { ACTING_NAMES, McpServer } from '../../mcp/server.ts'
import { CallError, EXIT } from '../../shared/failure.ts'
import { defineCommand } from '../command.ts'

export const mcp = defineCommand({
  name: 'mcp',
  summary: 'let an agent look at a queue, and act where it is allowed, by the Model Context Protocol',
  operands: '',
  arity: [0, 0],
  options: {
    allow: {
      type: 'string',
      multiple: true,
      value: 'NAMES',
      help: `what the agent may do: ${ACTING_NAMES.join(', ')}; repeatable, or with commas`,
    },
  },
  examples: [
    ['punctual mcp --queue orders', 'it may look, and change nothing'],
    ['punctual mcp --allow cancel,revive', 'these two as well'],
  ],
  notes: [
    'It speaks over standard input and output: an agent’s program starts it. What touches many messages is answered with what it would do, and is done when the same call comes again with the word of that answer.',
    'What messages hold was written by others. An agent that reads them and may act can be talked into acting: allow what you would allow a stranger.',
  ],
  makesStore: false,
  isPatient: true,
  run: async (call) => {
    const { input, out, queueName, clock } = call
    const allowed = parseAllowed(call.values.allow ?? [])
    const server = new McpServer({ queue: call.open(), queueName, allowed, clock, random: systemRandom })
    const underWay = new Set<Promise<void>>()
    for await (const line of createInterface({ input, signal: out.closed })) {
      if (line.trim() === '') continue
      const answering = server.answer(line).then((answer) => {
        if (answer !== undefined) out.line(answer)
        underWay.delete(answering)
      })
      underWay.add(answering)
    }
    await Promise.all(underWay)
    return EXIT.fine
  },
})

function parseAllowed(given: readonly string[]): readonly string[] {
  const names = given.flatMap((words) => words.split(',')).map((word) => word.trim())
  const wrong = names.find((name) => !ACTING_NAMES.includes(name))
  if (wrong === undefined) return names
  throw new CallError(`--allow has no ${JSON.stringify(wrong)}; there are: ${ACTING_NAMES.join(', ')}.`)
}
