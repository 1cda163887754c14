import type { FoundMessage, MessagePage } from '../../../index.ts'
import { defineCommand, type Call } from '../command.ts'
import { EXIT } from '../../shared/failure.ts'
import { formatDistance } from '../terminal/format.ts'
import { sayGap } from '../terminal/gap.ts'
import { formatMoment } from '../../shared/moment.ts'
import { readPage } from '../../shared/pages.ts'
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
    show(call, page)
    return EXIT.fine
  },
})

function show(call: Call, page: MessagePage): void {
  const { out, err, json } = call
  sayGap(err, page)
  if (json) return out.json(page)
  const { items, cursor } = page
  if (items.length === 0) return out.line(out.style.dim('no dead letters'))
  for (const line of renderRows(call, items)) out.line(line)
  if (cursor !== undefined) err.line(err.style.dim(`there is more: --cursor '${cursor}'`))
}

/** On a narrower terminal there is no room beside the error, which is what people look for. */
const WIDE_COLUMNS = 120

function renderRows({ out, clock }: Call, items: readonly FoundMessage[]): string[] {
  const now = clock.now()
  const { style } = out
  const isWide = !out.isTerminal || out.columns >= WIDE_COLUMNS
  const columns = [
    { title: 'ID' },
    { title: 'TOPIC' },
    ...(isWide ? [{ title: 'DIED' }, { title: '', align: 'right' as const }] : [{ title: 'DIED' }]),
    { title: 'TRIES', align: 'right' as const },
    { title: 'REASON' },
    { title: 'ERROR' },
    ...(isWide ? [{ title: 'PAYLOAD' }] : []),
  ]
  const rows = items.map((message) => {
    const diedAt = message.diedAt ?? message.dueAt
    return [
      message.id,
      message.topic,
      ...(isWide ? [formatMoment(diedAt)] : []),
      style.dim(formatDistance(diedAt, now)),
      String(message.attempt),
      style.red(printable(message.reason ?? '')),
      firstLine(message.error ?? ''),
      ...(isWide ? [style.dim(payloadText(message))] : []),
    ]
  })
  return renderTable(columns, rows, { width: out.isTerminal ? out.columns : Infinity, title: style.bold })
}
