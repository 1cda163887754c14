import type { FoundMessage, ListOptions, MessagePage } from '../../../index.ts'
import { defineCommand, type Call, type OptionSpecs } from '../command.ts'
import { WHICH_OPTIONS, parseWhich } from '../filter.ts'
import { CallError, EXIT } from '../../shared/failure.ts'
import { formatDistance, plural } from '../terminal/format.ts'
import { paintState } from '../terminal/style.ts'
import { formatMoment } from '../../shared/moment.ts'
import { allPages, readPage } from '../../shared/pages.ts'
import { payloadText } from '../../shared/printable.ts'
import { renderDetailed, renderTable } from '../terminal/table.ts'
import { parseAheadText, parseState, parseWholeNumber } from '../values.ts'

const LIMIT_DEFAULT = 50
const LIMIT_MAX = 1_000
/** On a narrower terminal a moment is shown by its distance alone, and the payload has a line of its own. */
const WIDE_COLUMNS = 120

const OPTIONS = {
  state: { type: 'string', value: 'STATE', help: 'delayed, ready, running or dead; default: all of them' },
  ...WHICH_OPTIONS,
  'due-from': { type: 'string', value: 'MOMENT', help: 'due then or later: a moment, or 30m from now' },
  'due-until': { type: 'string', value: 'MOMENT', help: 'due before: a moment, or 30m from now' },
  'id-prefix': { type: 'string', value: 'TEXT', help: 'only ids that begin with this' },
  text: { type: 'string', value: 'TEXT', help: 'only payloads whose JSON contains this' },
  limit: { type: 'string', value: 'N', help: `how many at most; default ${LIMIT_DEFAULT}` },
  cursor: { type: 'string', value: 'CURSOR', help: 'go on where the page before ended' },
  all: { type: 'boolean', help: 'page by page until there are no more' },
} as const satisfies OptionSpecs

type ListCall = Call<typeof OPTIONS>

export const list = defineCommand({
  name: 'list',
  summary: 'show messages',
  operands: '',
  arity: [0, 0],
  options: OPTIONS,
  examples: [
    ['punctual list --state delayed --due-until 1h', 'what comes due within the next hour'],
    ['punctual list --topic order.close --limit 10', 'ten messages of one topic'],
    ['punctual list --tag order-42', 'all that belongs to an order'],
    [`punctual list --id-prefix order- --text '"city":"Oslo"'`, 'by the id, and by what is in the payload'],
    [`punctual list --all --json | jq '.items[].id'`, 'every id, for a program'],
  ],
  notes: [
    'The order is the engine’s own. Without --all it looks at about 100,000 messages, and then says how to go on.',
    'With --json each page is one document: {"items": [...], "scanned": 50, "cursor": "..."}.',
  ],
  makesStore: false,
  run: async (call) => {
    const { values } = call
    const options = listOptions(call)
    const queue = call.open()
    if (values.all === true) {
      await showAll(call, allPages(queue, options, call.out.closed))
      return EXIT.fine
    }
    const limit = parseWholeNumber(values.limit ?? String(LIMIT_DEFAULT), '--limit', {
      min: 1,
      max: LIMIT_MAX,
    })
    show(call, await readPage(queue, { ...options, limit }))
    return EXIT.fine
  },
})

function listOptions({ values, clock }: ListCall): ListOptions {
  const { state, 'due-from': from, 'due-until': until, 'id-prefix': idPrefix, text } = values
  const { cursor, all, limit } = values
  if (all === true && (limit !== undefined || cursor !== undefined)) {
    throw new CallError('--all goes with neither --limit nor --cursor.')
  }
  const now = clock.now()
  return {
    ...(state === undefined ? {} : { state: parseState(state) }),
    ...parseWhich(values),
    ...(from === undefined ? {} : { dueFrom: parseAheadText(from, '--due-from', now) }),
    ...(until === undefined ? {} : { dueUntil: parseAheadText(until, '--due-until', now) }),
    ...(idPrefix === undefined ? {} : { idPrefix }),
    ...(text === undefined ? {} : { text }),
    ...(cursor === undefined ? {} : { cursor }),
  }
}

async function showAll(call: ListCall, pages: AsyncIterable<MessagePage>): Promise<void> {
  const { out, json } = call
  let shown = 0
  for await (const { items, scanned } of pages) {
    if (items.length === 0) continue
    shown += items.length
    show(call, { items, scanned })
  }
  if (shown === 0 && !json) out.line(out.style.dim('no messages'))
}

function show(call: ListCall, page: MessagePage): void {
  const { out, err, json } = call
  if (json) return out.json(page)
  const { items, cursor, scanned } = page
  const more = cursor === undefined ? '' : `there is more: --cursor '${cursor}', or --all`
  if (items.length > 0) {
    for (const line of renderRows(call, items)) out.line(line)
    if (more !== '') err.line(err.style.dim(more))
    return
  }
  out.line(out.style.dim(more === '' ? 'no messages' : `none among the first ${plural(scanned, 'message')}`))
  if (more !== '') err.line(err.style.dim(more))
}

function renderRows({ out, clock }: ListCall, items: readonly FoundMessage[]): string[] {
  const now = clock.now()
  const { style } = out
  const rows = items.map((message) => ({
    names: [message.id, paintState(message.state, style), message.topic],
    due: formatMoment(message.dueAt),
    distance: style.dim(formatDistance(message.dueAt, now)),
    tries: String(message.attempt),
    payload: style.dim(payloadText(message)),
  }))
  const names = [{ title: 'ID' }, { title: 'STATE' }, { title: 'TOPIC' }]
  const tries = { title: 'TRIES', align: 'right' } as const
  if (out.isTerminal && out.columns < WIDE_COLUMNS) {
    return renderDetailed(
      [...names, { title: 'DUE' }, tries],
      rows.map((row) => ({ cells: [...row.names, row.distance, row.tries], details: [row.payload] })),
      { width: out.columns, title: style.bold },
    )
  }
  return renderTable(
    [...names, { title: 'DUE' }, { title: '', align: 'right' }, tries, { title: 'PAYLOAD' }],
    rows.map((row) => [...row.names, row.due, row.distance, row.tries, row.payload]),
    { width: out.isTerminal ? out.columns : Infinity, title: style.bold },
  )
}
