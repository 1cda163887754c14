import type { FoundMessage, MessagePage } from '../../../index.ts'
import { defineCommand, type Call } from '../command.ts'
import { EXIT } from '../../shared/failure.ts'
import { formatDistance } from '../terminal/format.ts'
import { formatMoment } from '../../shared/moment.ts'
import { readPage } from '../../shared/pages.ts'
import { firstLine, payloadText, printable } from '../../shared/printable.ts'
import { renderDetailed, renderTable, type Column } from '../terminal/table.ts'
import { parseWholeNumber } from '../values.ts'

const LIMIT_DEFAULT = '50'
const TRIES: Column = { title: 'TRIES', align: 'right' }

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
  if (json) return out.json(page)
  const { items, cursor } = page
  if (items.length === 0) return out.line(out.style.dim('no dead letters'))
  for (const line of renderRows(call, items)) out.line(line)
  if (cursor !== undefined) err.line(err.style.dim(`there is more: --cursor '${cursor}'`))
}

/** On a narrower terminal the error, which is what people look for, and the payload have lines of their own. */
const WIDE_COLUMNS = 120

function renderRows({ out, clock }: Call, items: readonly FoundMessage[]): string[] {
  const now = clock.now()
  const { style } = out
  const rows = items.map((message) => {
    const diedAt = message.diedAt ?? message.dueAt
    return {
      id: message.id,
      topic: message.topic,
      died: formatMoment(diedAt),
      ago: style.dim(formatDistance(diedAt, now)),
      tries: String(message.attempt),
      reason: style.red(printable(message.reason ?? '')),
      error: firstLine(message.error ?? ''),
      payload: style.dim(payloadText(message)),
    }
  })
  if (out.isTerminal && out.columns < WIDE_COLUMNS) {
    return renderDetailed(
      [{ title: 'ID' }, { title: 'TOPIC' }, { title: 'DIED' }, TRIES],
      rows.map(({ id, topic, ago, tries, reason, error, payload }) => ({
        cells: [id, topic, ago, tries],
        details: [error === '' ? reason : `${reason}: ${error}`, payload],
      })),
      { width: out.columns, title: style.bold },
    )
  }
  return renderTable(
    [
      { title: 'ID' },
      { title: 'TOPIC' },
      { title: 'DIED' },
      { title: '', align: 'right' },
      TRIES,
      { title: 'REASON' },
      { title: 'ERROR' },
      { title: 'PAYLOAD' },
    ],
    rows.map(({ id, topic, died, ago, tries, reason, error, payload }) => [
      id,
      topic,
      died,
      ago,
      tries,
      reason,
      error,
      payload,
    ]),
    { width: out.isTerminal ? out.columns : Infinity, title: style.bold },
  )
}
