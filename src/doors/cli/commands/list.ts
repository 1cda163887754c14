import type { FoundMessage, ListOptions } from '../../../index.ts'
import { defineCommand, type Call, type OptionSpecs, type Values } from '../command.ts'
import { CallError, EXIT } from '../../shared/failure.ts'
import { formatDistance } from '../terminal/figures.ts'
import { paintState } from '../terminal/style.ts'
import { parseState } from '../values.ts'
import { formatMoment } from '../../shared/moment.ts'
import { allPages, pageDocument, readPage } from '../../shared/pages.ts'
import { payloadText } from '../../shared/printable.ts'
import { renderTable } from '../terminal/table.ts'
import { parseWholeNumber } from '../values.ts'

const LIMIT_DEFAULT = 50
const LIMIT_MAX = 1_000

const OPTIONS = {
  state: { type: 'string', value: 'STATE', help: 'delayed, ready, running or dead; default: all of them' },
  topic: { type: 'string', value: 'TOPIC', help: 'only messages of this topic' },
  limit: { type: 'string', value: 'N', help: `how many at most; default ${LIMIT_DEFAULT}` },
  cursor: { type: 'string', value: 'CURSOR', help: 'go on where the page before ended' },
  all: { type: 'boolean', help: 'page by page until there are no more' },
} as const satisfies OptionSpecs

export const list = defineCommand({
  name: 'list',
  summary: 'show messages',
  operands: '',
  arity: [0, 0],
  options: OPTIONS,
  examples: [
    ['punctual list --state delayed', 'what is still to come'],
    ['punctual list --topic order.close --limit 10', 'ten messages of one topic'],
    [`punctual list --all --json | jq '.items[].id'`, 'every id, for a program'],
  ],
  notes: [
    'The order is the engine’s own. With --json each page is one document: {"items": [...], "cursor": "..."}.',
  ],
  makesStore: false,
  run: async (call) => {
    const { values, out } = call
    const options = listOptions(values)
    const queue = call.open()
    if (values.all === true) {
      for await (const items of allPages(queue, options, out.closed)) show(call, items, undefined)
      return EXIT.fine
    }
    const limit = parseWholeNumber(values.limit ?? String(LIMIT_DEFAULT), '--limit', {
      min: 1,
      max: LIMIT_MAX,
    })
    const page = await readPage(queue, { ...options, limit })
    show(call, page.items, page.cursor)
    return EXIT.fine
  },
})

function listOptions({ state, topic, cursor, all, limit }: Values<typeof OPTIONS>): ListOptions {
  if (all === true && (limit !== undefined || cursor !== undefined)) {
    throw new CallError('--all goes with neither --limit nor --cursor.')
  }
  return {
    ...(state === undefined ? {} : { state: parseState(state) }),
    ...(topic === undefined ? {} : { topic }),
    ...(cursor === undefined ? {} : { cursor }),
  }
}

function show(call: Call, items: readonly FoundMessage[], cursor: string | undefined): void {
  const { out, err, json } = call
  if (json) return out.json(pageDocument(items, cursor))
  if (items.length === 0) return out.line(out.style.dim('no messages'))
  for (const line of renderRows(call, items)) out.line(line)
  if (cursor !== undefined) err.line(err.style.dim(`there is more: --cursor '${cursor}', or --all`))
}

function renderRows({ out, clock }: Call, items: readonly FoundMessage[]): string[] {
  const now = clock.now()
  const columns = [
    { title: 'ID' },
    { title: 'STATE' },
    { title: 'TOPIC' },
    { title: 'DUE' },
    { title: '', align: 'right' },
    { title: 'TRIES', align: 'right' },
    { title: 'PAYLOAD' },
  ] as const
  const rows = items.map((message) => [
    message.id,
    paintState(message.state, out.style),
    message.topic,
    formatMoment(message.dueAt),
    out.style.dim(formatDistance(message.dueAt, now)),
    String(message.attempt),
    out.style.dim(payloadText(message)),
  ])
  return renderTable(columns, rows, { width: out.isTerminal ? out.columns : Infinity, title: out.style.bold })
}
