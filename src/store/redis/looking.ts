/** What people and doors ask of the Redis engine without changing anything: messages, counts, forecasts, workers. */
import { decodeCursor, encodeCursor } from '../../core/encoding/cursor.ts'
import { invariant } from '../../core/errors.ts'
import type * as contract from '../contract/store.ts'
import { checkEdges } from '../shared/forecast.ts'
import type { ScriptCalls } from './scripts/calls.ts'
import * as scripts from './scripts/generated.ts'
import { keysArgs, keysReply } from './wire/keys.ts'
import { decodeRows, pageArgs, pageReply, tagArgs, tagReply, type ShownRows } from './wire/list.ts'
import { rememberedArgs, rememberedReply } from './wire/restore.ts'
import { countsReply, figuresArgs, figuresReply, topicRows, workersReply } from './wire/numbers.ts'

/** `topics`, the stage and the place in it where a look begins, see `count_topics.lua`, and the topic after which to go on. */
const TOPICS_CURSOR = [/^topics$/, /^(?:lines|running|died|succeeding)$/, /^/, /^/]
/** How many lines or counts one look at topics goes through. */
const TOPICS_AT_ONCE = 250
/** A call for more bars would keep the server longer than 2 ms. */
const BARS_AT_ONCE = 400

export class Looking {
  readonly #scripts: ScriptCalls

  constructor(calls: ScriptCalls) {
    this.#scripts = calls
  }

  async inspect(query: contract.InspectQuery): Promise<contract.Page> {
    if ('ids' in query) {
      if (query.ids.length === 0) return { items: [], scanned: 0 }
      const reply = await this.#run(scripts.INSPECT_IDS_SCRIPT, query.ids)
      const items = decodeRows(reply as unknown as ShownRows)
      return { items, scanned: query.ids.length }
    }
    if (query.tag !== undefined)
      return tagReply(query, await this.#run(scripts.INSPECT_TAG_SCRIPT, tagArgs(query)))
    return pageReply(query, await this.#run(scripts.INSPECT_PAGE_SCRIPT, pageArgs(query)))
  }

  async count(): Promise<contract.Counts> {
    return countsReply(await this.#run(scripts.COUNT_SCRIPT, []))
  }

  /** Each page is one look, cut to the limit: a cursor names the look, and the topic after which to go on in it. */
  async countTopics(query: contract.TopicsQuery): Promise<contract.TopicsPage> {
    if ('topics' in query) {
      const [, , rows] = await this.#run(scripts.COUNT_TOPICS_SCRIPT, ['named', ...query.topics])
      return { topics: Object.fromEntries(topicRows(rows as unknown[])) }
    }
    const from =
      query.cursor === undefined ? ['topics', 'lines', '', ''] : decodeCursor(query.cursor, TOPICS_CURSOR)
    const [, stage = '', place = '', after = ''] = from
    const size = String(Math.min(query.limit, TOPICS_AT_ONCE))
    const [nextStage, next, rows] = await this.#run(scripts.COUNT_TOPICS_SCRIPT, [stage, place, size])
    const found = topicRows(rows as unknown[])
      .filter(([topic]) => topic > after)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
    const page = found.slice(0, query.limit)
    // fromEntries, because a topic may be called "__proto__".
    const topics = Object.fromEntries(page)
    if (found.length > page.length)
      return { topics, cursor: encodeCursor(['topics', stage, place, page.at(-1)?.[0] ?? '']) }
    if (nextStage === '') return { topics }
    return { topics, cursor: encodeCursor(['topics', String(nextStage), String(next), '']) }
  }

  async forecast({ edges, topic = '' }: contract.ForecastQuery): Promise<contract.Forecast> {
    checkEdges(edges)
    const counts: number[] = []
    let isExact = true
    for (let from = 0; from < edges.length - 1; from += BARS_AT_ONCE) {
      const slice = edges.slice(from, from + BARS_AT_ONCE + 1)
      const [isExactly, ofSlice] = await this.#run(scripts.FORECAST_SCRIPT, [topic, ...slice.map(String)])
      counts.push(...(ofSlice as number[]))
      isExact &&= isExactly === 1
    }
    return { counts, isExact }
  }

  async figures(query: contract.FiguresQuery): Promise<contract.FiguresPage> {
    return figuresReply(await this.#run(scripts.FIGURES_SCRIPT, figuresArgs(query)))
  }

  async remembered(query: contract.RememberedQuery): Promise<contract.Page> {
    return rememberedReply(await this.#run(scripts.INSPECT_REMEMBERED_SCRIPT, rememberedArgs(query)))
  }

  async keys(query: contract.KeysQuery): Promise<contract.KeysPage> {
    return keysReply(await this.#run(scripts.INSPECT_KEYS_SCRIPT, keysArgs(query)))
  }

  async workers(): Promise<contract.WorkersReply> {
    return workersReply(await this.#run(scripts.WORKERS_SCRIPT, []))
  }

  async #run(script: scripts.Script, args: readonly string[]): Promise<readonly unknown[]> {
    const reply = await this.#scripts.run(script, { args })
    invariant(Array.isArray(reply), 'a script answers with a list')
    return reply as readonly unknown[]
  }
}
