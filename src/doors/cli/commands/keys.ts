import type { FoundKey } from '../../../index.ts'
import { formatMoment } from '../../shared/moment.ts'
import { EXIT } from '../../shared/failure.ts'
import { printable } from '../../shared/printable.ts'
import { defineCommand, type OptionSpecs } from '../command.ts'
import type { Output } from '../terminal/output.ts'
import { renderTable } from '../terminal/table.ts'
import { parseWholeNumber } from '../values.ts'
import { limitText } from './limit.ts'

const LIMIT_MAX = 1_000

const OPTIONS = {
  limit: { type: 'string', value: 'N', help: 'keys on a page; default: 100' },
  cursor: { type: 'string', value: 'CURSOR', help: 'go on where the page before ended' },
} as const satisfies OptionSpecs

export const keys = defineCommand({
  name: 'keys',
  summary: 'the keys of a topic: how much waits, what runs, what holds them back',
  operands: 'TOPIC',
  arity: [1, 1],
  options: OPTIONS,
  examples: [
    ['punctual keys mail.send', 'whose messages wait'],
    ['punctual list --topic mail.send --key customer-7', 'the messages of one of them'],
  ],
  notes: [],
  makesStore: false,
  run: async ({ positionals, values, open, out, err, json }) => {
    const [topic = ''] = positionals
    const limit =
      values.limit === undefined
        ? {}
        : { limit: parseWholeNumber(values.limit, '--limit', { min: 1, max: LIMIT_MAX }) }
    const page = await open().keys(topic, {
      ...limit,
      ...(values.cursor === undefined ? {} : { cursor: values.cursor }),
    })
    if (json) {
      out.json(page)
      return EXIT.fine
    }
    if (page.keys.length === 0) out.line(out.style.dim('no keys'))
    else for (const line of renderTable(COLUMNS, page.keys.map(rowOf), look(out))) out.line(line)
    if (page.cursor !== undefined) err.line(err.style.dim(`there is more: --cursor '${page.cursor}'`))
    return EXIT.fine
  },
})

const COLUMNS = [
  { title: 'KEY' },
  { title: 'WAITING', align: 'right' },
  { title: 'RUNNING', align: 'right' },
  { title: 'WAITS FOR' },
] as const

function look({ isTerminal, columns, style }: Output): { width: number; title: (text: string) => string } {
  return { width: isTerminal ? columns : Infinity, title: style.bold }
}

function rowOf({ key, waiting, running, rateAt, held, limit }: FoundKey): string[] {
  const notes = [
    ...(held === undefined
      ? []
      : [`held by the retry of ${printable(held.id)} until ${formatMoment(held.dueAt)}`]),
    ...(rateAt === undefined ? [] : [`its rate is used up until ${formatMoment(rateAt)}`]),
    ...(limit === undefined ? [] : [`own limit: ${limitText(limit)}`]),
  ]
  return [
    printable(key),
    waiting === 1_000 ? '1000 or more' : String(waiting),
    String(running),
    notes.join('; '),
  ]
}
