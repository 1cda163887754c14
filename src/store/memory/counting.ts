/**
 * The store in numbers.
 *
 * Cost. Totals: O(1), besides what has come due since the last call. Topics: O(topics on the page). A forecast reads the
 * columns of the table from end to end, about 10 ns for each message; above half a million slots it looks at as many of
 * them, spread evenly, and says that it is not exact.
 */
import type * as contract from '../contract/store.ts'
import { decodeCursor, encodeCursor } from '../../core/encoding/cursor.ts'
import type { Looks } from '../../core/wheel/wheel-lanes.ts'
import { barOf, checkEdges } from '../shared/forecast.ts'
import type { Messages } from './messages.ts'
import { WAITING } from './table.ts'
import type { Topic } from './topics.ts'

/** How many messages a page of topics looks at to find the next of each. */
const LOOKS_MAX = 200_000
const FORECAST_SLOTS_MAX = 500_000
/** Cells of the grid that leads from a moment to its bar. */
const CELLS = 4_096
/** Above so many bars in one cell they are searched by halves. */
const SPAN_MAX = 8

export function count(messages: Messages, now: number): contract.Counts {
  const { table, waiting, leases, topics } = messages
  const isExact = waiting.advance(now)
  const { delayed } = waiting
  const { successors } = table
  let [all, running, dead] = [table.size, leases.size, table.deadCount]
  for (const ours of topics.ours) {
    all -= ours.waiting + ours.running + ours.dead
    running -= ours.running
    dead -= ours.dead
  }
  const nextDueAt = waiting.nextDueAt()
  const states = { delayed: delayed + successors, ready: all - running - dead - delayed, running, dead }
  return { states, isExact, ...(nextDueAt === undefined ? {} : { nextDueAt }) }
}

export function countTopics(messages: Messages, query: contract.TopicsQuery): contract.TopicsPage {
  const looks = { left: LOOKS_MAX }
  if ('topics' in query) {
    const found = query.topics.map((name) => messages.topics.named(name))
    return { topics: countsOf(messages, found, looks) }
  }
  const { topics } = messages
  const found: Topic[] = []
  for (let number = parseCursor(query.cursor); number < topics.numbers; number += 1) {
    const topic = topics.at(number)
    if (topic === undefined || topic.isOurs || topic.waiting + topic.running + topic.dead === 0) continue
    if (found.length === query.limit)
      return { topics: countsOf(messages, found, looks), cursor: encodeCursor([String(number)]) }
    found.push(topic)
  }
  return { topics: countsOf(messages, found, looks) }
}

function countsOf(
  { waiting: waits }: Messages,
  topics: readonly (Topic | undefined)[],
  looks: Looks,
): Readonly<Record<string, contract.TopicCounts>> {
  const counts: [string, contract.TopicCounts][] = []
  for (const topic of topics) {
    if (topic === undefined) continue
    const { name, waiting, running, dead } = topic
    const nextDueAt = waiting === 0 ? undefined : waits.nextDueAtOf(topic, looks)
    counts.push([name, { waiting, running, dead, ...(nextDueAt === undefined ? {} : { nextDueAt }) }])
  }
  return Object.fromEntries(counts)
}

export function forecast(messages: Messages, { edges, topic }: contract.ForecastQuery): contract.Forecast {
  checkEdges(edges)
  const counts = Array.from({ length: edges.length - 1 }, () => 0)
  const lane = topic === undefined ? undefined : messages.topics.named(topic)?.number
  if (topic !== undefined && lane === undefined) return { counts, isExact: true }
  const { slots } = messages.table
  const step = Math.max(1, slots / FORECAST_SLOTS_MAX)
  const tally = tallyBars(messages, edges, { lane, step })
  for (const [bar, found] of tally.entries()) counts[bar] = Math.round(found * step)
  return { counts, isExact: step === 1 }
}

function tallyBars(
  { table, topics }: Messages,
  edges: readonly number[],
  { lane, step }: { readonly lane: number | undefined; readonly step: number },
): Float64Array {
  const { states, dueAt, topic, slots } = table
  const tally = new Float64Array(edges.length - 1)
  const grid = new BarGrid(edges)
  const hidden = new Set(lane === undefined ? [...topics.ours].map(({ number }) => number) : [])
  const isAnyHidden = hidden.size > 0
  for (let at = 0; at < slots; at += step) {
    const slot = step === 1 ? at : Math.floor(at + spread(at) * step)
    if (states[slot] !== WAITING || (lane !== undefined && topic[slot] !== lane)) continue
    if (isAnyHidden && hidden.has(topic[slot] as number)) continue
    const bar = grid.barOf(dueAt[slot] as number)
    if (bar >= 0) tally[bar] = (tally[bar] as number) + 1
  }
  return tally
}

/** In [0, 1), without pattern: what was produced in a rhythm must not meet the steps in the same rhythm. */
function spread(at: number): number {
  const mixed = Math.imul(Math.floor(at) ^ 0x9e3779b9, 0x85ebca6b)
  return ((mixed ^ (mixed >>> 13)) >>> 0) / 2 ** 32
}

/** Edges need not be even: a grid of even cells says from which bar on to look. */
class BarGrid {
  readonly #edges: Float64Array
  readonly #firstAt: number
  readonly #endsAt: number
  readonly #cellsPerMs: number
  /** The first bar of each cell, and one before it: a moment near an edge may be rounded to the next cell. */
  readonly #barFrom = new Int32Array(CELLS + 2)

  constructor(edges: readonly number[]) {
    this.#edges = Float64Array.from(edges)
    this.#firstAt = edges[0] as number
    this.#endsAt = edges.at(-1) as number
    const widthMs = this.#endsAt - this.#firstAt
    this.#cellsPerMs = CELLS / widthMs
    for (let cell = 0; cell < this.#barFrom.length; cell += 1) {
      const bar = barOf(this.#edges, this.#firstAt + (cell * widthMs) / CELLS)
      this.#barFrom[cell] = Math.max(0, (bar < 0 ? edges.length - 2 : bar) - 1)
    }
  }

  barOf(at: number): number {
    if (at < this.#firstAt || at >= this.#endsAt) return -1
    const cell = ((at - this.#firstAt) * this.#cellsPerMs) | 0
    let bar = this.#barFrom[cell] as number
    const span = (this.#barFrom[cell + 1] as number) - bar
    if (span > SPAN_MAX) return barOf(this.#edges, at, bar, Math.min(bar + span + 2, this.#edges.length - 2))
    while (at >= (this.#edges[bar + 1] as number)) bar += 1
    return bar
  }
}

function parseCursor(cursor: string | undefined): number {
  return cursor === undefined ? 0 : Number(decodeCursor(cursor, [/^\d{1,15}$/])[0])
}
