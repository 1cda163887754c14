import type { FoundMessage } from '../../../index.ts'
import { defineCommand, type Call } from '../command.ts'
import { EXIT } from '../../shared/failure.ts'
import { formatDistance } from '../terminal/figures.ts'
import { formatMoment } from '../../shared/moment.ts'
import { pageDocument, readPage } from '../../shared/pages.ts'
import { firstLine, payloadText, printable } from '../../shared/printable.ts'
import { renderTable } from '../terminal/table.ts'
import { parseWholeNumber } from '../values.ts'

const LIMIT_DEFAULT = '50'

export const dead = defineCommand({
  name: 'dead',
  summary: 'show the dead letters: what failed for good, when and why',
  operands: '',
  arity: [0, 0],
  options: {
    topic: { type: 'string', value: 'TOPIC', help: 'only messages of this topic' },
    limit: { type: 'string', value: 'N', help: `how many at most; default ${LIMIT_DEFAULT}` },
    cursor: { type: 'string', value: 'CURSOR', help: 'go on where the page before ended' },
  },
  examples: [
    ['punctual dead', 'what failed for good'],
    ['punctual revive --all --topic mail.send', 'and after the repair: once more, from the start'],
  ],
  makesStore: false,
  run: async (call) => {
    const { topic, limit = LIMIT_DEFAULT, cursor } = call.values
    const page = await readPage(call.open(), {
      state: 'dead',
      limit: parseWholeNumber(limit, '--limit', { min: 1, max: 1_000 }),
      ...(topic === undefined ? {} : { topic }),
      ...(cursor === undefined ? {} : { cursor }),
    })
    show(call, page.items, page.cursor)
    return EXIT.fine
  },
})

function show(call: Call, items: readonly FoundMessage[], cursor: string | undefined): void {
  const { out, err, json } = call
  if (json) return out.json(pageDocument(items, cursor))
  if (items.length === 0) return out.line(out.style.dim('no dead letters'))
  for (const line of renderRows(call, items)) out.line(line)
  if (cursor !== undefined) err.line(err.style.dim(`there is more: --cursor '${cursor}'`))
}

function renderRows({ out, clock }: Call, items: readonly FoundMessage[]): string[] {
  const now = clock.now()
  const { style } = out
  const columns = [
    { title: 'ID' },
    { title: 'TOPIC' },
    { title: 'DIED' },
    { title: '', align: 'right' },
    { title: 'TRIES', align: 'right' },
    { title: 'REASON' },
    { title: 'ERROR' },
    { title: 'PAYLOAD' },
  ] as const
  const rows = items.map((message) => [
    message.id,
    message.topic,
    formatMoment(message.diedAt ?? message.dueAt),
    style.dim(formatDistance(message.diedAt ?? message.dueAt, now)),
    String(message.attempt),
    style.red(printable(message.reason ?? '')),
    firstLine(message.error ?? ''),
    style.dim(payloadText(message)),
  ])
  return renderTable(columns, rows, { width: out.isTerminal ? out.columns : Infinity, title: style.bold })
}
