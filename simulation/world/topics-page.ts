/** A page of counts by topic, for engines that have all topics at hand. */
import { isControl } from '../../src/core/control.ts'
import type { TopicCounts, TopicsPage, TopicsQuery } from '../../src/store/contract/store.ts'

export function topicsPage(all: Readonly<Record<string, TopicCounts>>, query: TopicsQuery): TopicsPage {
  if ('topics' in query) {
    const wanted = new Set(query.topics)
    return { topics: Object.fromEntries(Object.entries(all).filter(([name]) => wanted.has(name))) }
  }
  const names = Object.keys(all)
    .filter((name) => !isControl(name))
    .toSorted()
  const from = query.cursor === undefined ? 0 : names.findIndex((name) => name > (query.cursor ?? ''))
  const page = from === -1 ? [] : names.slice(from, from + query.limit)
  const topics = Object.fromEntries(page.map((name) => [name, all[name] as TopicCounts]))
  const last = page.at(-1)
  return last === undefined || names.at(-1) === last ? { topics } : { topics, cursor: last }
}
