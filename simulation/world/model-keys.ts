/** The keys of the model: whose turn it is, by a look at everything that waits and runs. See `core/keys`. */
import { Meter, type Allowance, type TopicControl } from '../../src/core/controls.ts'
import {
  FRESH_TURN,
  enteredTurn,
  isSerial,
  nextStamp,
  servedTurn,
  termsOf,
  type KeyTerms,
  type KeyTurn,
} from '../../src/core/keys.ts'
import { KEY_COUNT_MAX } from '../../src/store/contract/sizes.ts'
import type * as contract from '../../src/store/contract/store.ts'
import type { KeyLimits } from '../../src/store/shared/controls.ts'
import type { ModelEntry } from './model-entry.ts'

type KeyRecord = {
  /** By priority. */
  readonly turns: KeyTurn[]
  filledAt: number
}

export type KeyPlace = { readonly topic: string; readonly key: string }

export class ModelKeys {
  readonly #records: Map<string, KeyRecord>
  readonly #controls: ReadonlyMap<string, TopicControl>
  readonly #limits: KeyLimits
  #stamp: number

  constructor(controls: ReadonlyMap<string, TopicControl>, limits: KeyLimits, from?: ModelKeys) {
    this.#controls = controls
    this.#limits = limits
    this.#stamp = from === undefined ? 0 : from.#stamp
    const records = from === undefined ? [] : [...from.#records]
    this.#records = new Map(records.map(([name, record]) => [name, { ...record, turns: [...record.turns] }]))
  }

  /** For a claim, which changes nothing until it is made. */
  copy(): ModelKeys {
    return new ModelKeys(this.#controls, this.#limits, this)
  }

  isSerial(place: KeyPlace): boolean {
    return isSerial(this.#termsOf(place))
  }

  /** A message of the key begins to wait; `others` of it wait or run already. */
  entered({ topic, key }: KeyPlace, entry: ModelEntry, others: number, now: number): void {
    const record = this.#record(topic, key)
    if (others === 0) record.turns[entry.message.priority] = enteredTurn(entry.dueAt, now)
  }

  served(place: KeyPlace, { message }: ModelEntry, now: number): void {
    const record = this.#record(place.topic, place.key)
    const { rate, weight } = this.#termsOf(place)
    if (rate !== undefined) {
      const meter = new Meter(rate, record.filledAt, now)
      meter.charge(1)
      record.filledAt = meter.filledAt
    }
    this.#stamp = nextStamp(this.#stamp, now)
    const turn = record.turns[message.priority] ?? FRESH_TURN
    record.turns[message.priority] = servedTurn(turn, weight, this.#stamp)
  }

  /**
   * The first of each priority with its turn and the moment from which it may be handed out, of the messages of one key;
   * none while it runs as many as it may.
   */
  heads(
    place: KeyPlace,
    waiting: readonly ModelEntry[],
    running: number,
    now: number,
  ): { readonly entry: ModelEntry; readonly turn: number; readonly opensAt: number }[] {
    const terms = this.#termsOf(place)
    if (running >= (terms.concurrency ?? Infinity)) return []
    const { turns } = this.#record(place.topic, place.key)
    const rateAt = this.#rateAt(place, terms, now)
    const held = isSerial(terms) ? waiting.filter(({ isHolding }) => isHolding) : []
    const inOrder = (held.length > 0 ? held : waiting).toSorted(
      (a, b) => a.dueAt - b.dueAt || a.order - b.order,
    )
    const firsts =
      held.length > 0
        ? inOrder.slice(0, 1)
        : [0, 1, 2].flatMap((rank) => inOrder.find(({ message }) => message.priority === rank) ?? [])
    return firsts.map((entry) => ({
      entry,
      turn: Math.max(entry.dueAt, (turns[entry.message.priority] ?? FRESH_TURN).servedAt),
      opensAt: Math.max(entry.dueAt, rateAt),
    }))
  }

  /** Forgets what nothing is left of. */
  prune(isThere: (place: KeyPlace) => boolean, now: number): void {
    for (const [name, { filledAt }] of this.#records) {
      const [topic = '', key = ''] = name.split('\n')
      if (filledAt <= now && !isThere({ topic, key })) this.#records.delete(name)
    }
  }

  page(query: contract.KeysQuery, entries: readonly ModelEntry[], now: number): contract.KeysPage {
    const { topic } = query
    const stateOf = (key: string): contract.KeyState => this.#state({ topic, key }, entries, now)
    if ('keys' in query) return { now, keys: query.keys.map(stateOf) }
    const names = new Set([
      ...entries.flatMap(({ message, place }) =>
        message.topic === topic && place !== 'dead' ? (message.key ?? []) : [],
      ),
      ...[...this.#records].flatMap(([name, { filledAt }]) =>
        name.startsWith(`${topic}\n`) && filledAt > now ? name.slice(topic.length + 1) : [],
      ),
      ...(this.#limits.get(topic)?.keys() ?? []),
    ])
    const rest = [...names].toSorted().filter((name) => name > (query.cursor ?? ''))
    const keys = rest.slice(0, query.limit)
    const last = keys.at(-1)
    return {
      now,
      keys: keys.map(stateOf),
      ...(rest.length > keys.length && last !== undefined ? { cursor: last } : {}),
    }
  }

  #state(place: KeyPlace, entries: readonly ModelEntry[], now: number): contract.KeyState {
    const terms = this.#termsOf(place)
    const its = entries.filter(({ message }) => message.topic === place.topic && message.key === place.key)
    const waiting = its.filter((entry) => entry.place === 'waiting')
    const running = its.filter((entry) => entry.place === 'running').length
    const heads = this.heads(place, waiting, running, now)
    const turnAt = Math.min(...heads.map(({ turn, opensAt }) => Math.max(turn, opensAt)))
    const rateAt = this.#rateAt(place, terms, now)
    const holder = heads.find(({ entry }) => isSerial(terms) && entry.isHolding)?.entry
    const limit = this.#limits.get(place.topic)?.get(place.key)
    return {
      key: place.key,
      waiting: Math.min(waiting.length, KEY_COUNT_MAX),
      running,
      ...(turnAt === Infinity ? {} : { turnAt }),
      ...(rateAt > now ? { rateAt } : {}),
      ...(holder === undefined ? {} : { held: { id: holder.message.id, dueAt: holder.dueAt } }),
      ...(limit === undefined ? {} : { limit }),
    }
  }

  #rateAt({ topic, key }: KeyPlace, { rate }: Allowance, now: number): number {
    if (rate === undefined) return 0
    return Math.ceil(new Meter(rate, this.#records.get(`${topic}\n${key}`)?.filledAt ?? 0, now).againAt)
  }

  #termsOf({ topic, key }: KeyPlace): KeyTerms {
    return termsOf(this.#controls.get(topic)?.limit.perKey, this.#limits.get(topic)?.get(key))
  }

  #record(topic: string, key: string): KeyRecord {
    const name = `${topic}\n${key}`
    const known = this.#records.get(name)
    if (known !== undefined) return known
    const record: KeyRecord = { turns: [FRESH_TURN, FRESH_TURN, FRESH_TURN], filledAt: 0 }
    this.#records.set(name, record)
    return record
  }
}

/** The keys of a topic that have something waiting, with it, and how many of each run. */
export function keyGroups(
  entries: readonly ModelEntry[],
  topic: string,
): { readonly place: KeyPlace; readonly waiting: ModelEntry[]; readonly running: number }[] {
  const groups = new Map<string, { waiting: ModelEntry[]; running: number }>()
  for (const entry of entries) {
    const { key } = entry.message
    if (key === undefined || entry.message.topic !== topic || entry.place === 'dead') continue
    const group = groups.get(key) ?? { waiting: [], running: 0 }
    groups.set(key, group)
    if (entry.place === 'waiting') group.waiting.push(entry)
    else group.running += 1
  }
  return [...groups].map(([key, group]) => ({ place: { topic, key }, ...group }))
}
