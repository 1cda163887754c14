/** Looking at the model: pages, counts and forecasts, each by a walk over everything. */
import { isControl } from '../../src/core/control.ts'
import { decodeCursor, encodeCursor } from '../../src/core/encoding/cursor.ts'
import type * as contract from '../../src/store/contract/store.ts'
import { isPicked } from '../../src/store/shared/filters.ts'
import { barOf, checkEdges } from '../../src/store/shared/forecast.ts'
import { stateOf, storedMessage, type ModelEntry } from './model-entry.ts'

/** Small, so that callers meet short pages. */
const SCAN_MAX = 100

/** `deaths`: how many the store has seen so far; a walk over dead messages ends at those of before. */
export function modelPage(
  entries: Iterable<ModelEntry>,
  query: contract.ListQuery | contract.TagQuery,
  { now, deaths }: { readonly now: number; readonly deaths: number },
): contract.Page {
  const [after, deathsMax] = query.cursor === undefined ? [-1, deaths] : parseCursor(query.cursor)
  const rest = [...entries]
    .filter((entry) => entry.order > after)
    .filter((entry) => query.tag === undefined || hasTag(entry, query.tag))
    .filter((entry) => query.tag !== undefined || stateOf(entry, now) === query.state)
    .filter((entry) => entry.place !== 'dead' || entry.deathsBefore < deathsMax)
    .toSorted((a, b) => a.order - b.order)
  const items: contract.StoredMessage[] = []
  let scanned = 0
  for (const entry of rest.slice(0, SCAN_MAX)) {
    if (items.length === query.limit) break
    scanned += 1
    const item = storedMessage(entry, now)
    if (isPicked(query, item, now)) items.push(item)
  }
  const last = rest[scanned - 1]
  if (scanned === rest.length || last === undefined) return { items, scanned }
  return { items, scanned, cursor: encodeCursor([String(last.order), String(deathsMax)]) }
}

function hasTag({ message, successor }: ModelEntry, tag: string): boolean {
  return [message, successor?.message].some((one) => one?.tags?.includes(tag) === true)
}

const NUMBER = /^\d{1,15}$/

/** The order of the last message on the page before, and how many deaths there were when the walk began. */
function parseCursor(cursor: string): readonly [after: number, deaths: number] {
  const [after, deaths] = decodeCursor(cursor, [NUMBER, NUMBER])
  return [Number(after), Number(deaths)]
}

export function modelCounts(entries: Iterable<ModelEntry>, now: number): contract.Counts {
  const states = { delayed: 0, ready: 0, running: 0, dead: 0 }
  const shown = [...entries].filter(({ message }) => !isControl(message.topic))
  for (const entry of shown) {
    states[stateOf(entry, now)] += 1
    if (entry.successor !== undefined) states.delayed += 1
  }
  return { states, isExact: true, ...earliest(shown) }
}

export function modelTopics(entries: Iterable<ModelEntry>): Readonly<Record<string, contract.TopicCounts>> {
  const byTopic = new Map<string, ModelEntry[]>()
  for (const entry of entries) {
    const ofTopic = byTopic.get(entry.message.topic) ?? []
    byTopic.set(entry.message.topic, ofTopic)
    ofTopic.push(entry)
  }
  const succeeding = [...byTopic.values()].flat().flatMap(({ successor }) => successor?.message.topic ?? [])
  for (const topic of succeeding) if (!byTopic.has(topic)) byTopic.set(topic, [])
  const counts = [...byTopic].map(([topic, ofTopic]): [string, contract.TopicCounts] => {
    const inPlace = (place: ModelEntry['place']): number =>
      ofTopic.filter((entry) => entry.place === place).length
    const [waits, running, dead] = [inPlace('waiting'), inPlace('running'), inPlace('dead')]
    const waiting = waits + succeeding.filter((one) => one === topic).length
    return [topic, { waiting, running, dead, ...earliest(ofTopic) }]
  })
  return Object.fromEntries(counts)
}

export function modelForecast(
  entries: Iterable<ModelEntry>,
  { edges, topic }: contract.ForecastQuery,
): contract.Forecast {
  checkEdges(edges)
  const counts = Array.from({ length: edges.length - 1 }, () => 0)
  for (const { place, dueAt, message } of entries) {
    if (place !== 'waiting' || !isOfTopic(message, topic)) continue
    const bar = barOf(edges, dueAt)
    if (bar >= 0) counts[bar] = (counts[bar] ?? 0) + 1
  }
  return { counts, isExact: true }
}

/** One of our own topics must be named. */
function isOfTopic(message: contract.NewMessage, topic: string | undefined): boolean {
  return topic === undefined ? !isControl(message.topic) : message.topic === topic
}

function earliest(entries: Iterable<ModelEntry>): { nextDueAt?: number } {
  let nextDueAt = Infinity
  for (const { place, dueAt } of entries) if (place === 'waiting') nextDueAt = Math.min(nextDueAt, dueAt)
  return nextDueAt === Infinity ? {} : { nextDueAt }
}
