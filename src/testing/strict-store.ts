/**
 * A store that watches its caller. It passes every call on, and tells of each that the contract forbids although most
 * engines would let it pass: a limit of 0 or above the maximum, a topic wanted twice, too many wants, a batch of too many
 * entries or bytes, a number that is not finite.
 *
 *   const mistakes: string[] = []
 *   const queue = new Punctual({ store: new StrictStore(store, (mistake) => mistakes.push(mistake)) })
 */
import type {
  ClaimDue,
  ClaimRequest,
  InspectQuery,
  NewMessage,
  RestoredMessage,
  Settlement,
  Store,
} from '../store/contract/store.ts'
import {
  FOLLOW_UPS_MAX,
  entriesOfSettlement,
  followUpsOf,
  sizeOfMessage,
  sizeOfRestored,
  sizeOfSettlement,
} from '../store/contract/sizes.ts'
import { StoreWrapper, type StoreVerb } from '../store/contract/verbs.ts'

/** Verbs whose first argument is a list of entries. */
const LISTS: readonly StoreVerb[] = [
  'put',
  'extend',
  'settle',
  'record',
  'remove',
  'reschedule',
  'revive',
  'restore',
]

export class StrictStore extends StoreWrapper {
  readonly #onMistake: (mistake: string) => void

  constructor(inner: Store, onMistake: (mistake: string) => void) {
    super(inner)
    this.#onMistake = onMistake
  }

  override around<T>(verb: StoreVerb, args: readonly unknown[], call: () => Promise<T>): Promise<T> {
    for (const mistake of this.#mistakes(verb, args)) this.#onMistake(`${verb}: ${mistake}`)
    return call()
  }

  *#mistakes(verb: StoreVerb, [first, second]: readonly unknown[]): Generator<string> {
    const { batchMax } = this.capabilities
    const number = numberThatIsNot(first) ?? numberThatIsNot(second)
    if (number !== undefined) yield `a number is ${number}`
    if (LISTS.includes(verb)) yield* countMistakes((first as readonly unknown[]).length, batchMax)
    switch (verb) {
      case 'put':
        yield* this.#byteMistakes((first as readonly NewMessage[]).map(sizeOfMessage))
        break
      case 'restore':
        yield* this.#byteMistakes((first as readonly RestoredMessage[]).map(sizeOfRestored))
        break
      case 'settle':
        yield* this.#byteMistakes((first as readonly Settlement[]).map(sizeOfSettlement))
        yield* followUpMistakes(first as readonly Settlement[], batchMax)
        break
      case 'claim':
        yield* this.#claimMistakes(first as ClaimRequest)
        break
      case 'inspect':
      case 'remembered':
      case 'countTopics': {
        const query = first as InspectQuery | { readonly topics: readonly string[] }
        if ('ids' in query) yield* countMistakes(query.ids.length, batchMax)
        else if ('topics' in query) yield* countMistakes(query.topics.length, batchMax)
        else yield* limitMistakes(query.limit, batchMax)
        break
      }
      default:
    }
  }

  *#claimMistakes(request: ClaimRequest): Generator<string> {
    if (isResignation(request)) return
    yield* limitMistakes(request.limit, this.capabilities.batchMax)
    if (request.owner === '') yield 'a claim without an owner'
    if (request.leaseMs <= 0) yield `a lease of ${request.leaseMs} ms`
    if (request.from === 'due') yield* this.#wantMistakes(request)
  }

  *#wantMistakes({ wants, bytesMax, leadMs }: ClaimDue): Generator<string> {
    const { wantsMax } = this.capabilities
    if (wants.length === 0) yield 'a claim that wants nothing'
    if (wants.length > wantsMax) yield `${wants.length} wants; allowed: ${wantsMax}`
    if (new Set(wants.map(({ topic }) => topic)).size < wants.length) yield 'a topic is wanted twice'
    for (const { topic, limit } of wants) if (limit < 1) yield `"${topic}" is wanted with a limit of ${limit}`
    if (bytesMax < 1) yield `a claim of ${bytesMax} bytes`
    if (leadMs < 0 || leadMs > this.capabilities.leadMs) yield `a lead of ${leadMs} ms`
  }

  *#byteMistakes(sizes: readonly number[]): Generator<string> {
    const { batchBytesMax } = this.capabilities
    const bytes = sizes.reduce((sum, size) => sum + size, 0)
    if (sizes.length > 1 && bytes > batchBytesMax)
      yield `${bytes} bytes in one call; allowed: ${batchBytesMax}`
  }
}

/** A worker without room tells a store that counts on it; it asks for nothing. */
function isResignation(request: ClaimRequest): boolean {
  const isAsked = request.from !== 'due' || request.limit > 0 || request.wants.length > 0
  return !isAsked && request.sleeper !== undefined
}

function* countMistakes(entries: number, max: number): Generator<string> {
  if (entries > max) yield `${entries} entries in one call; allowed: ${max}`
}

function* followUpMistakes(settlements: readonly Settlement[], max: number): Generator<string> {
  const counts = settlements.map(entriesOfSettlement)
  const entries = counts.reduce((sum, count) => sum + count, 0)
  if (settlements.length > 1) yield* countMistakes(entries, max)
  for (const settlement of settlements) yield* countMistakes(followUpsOf(settlement).length, FOLLOW_UPS_MAX)
}

function* limitMistakes(limit: number, max: number): Generator<string> {
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > max)
    yield `a limit of ${limit}; allowed: 1 to ${max}`
}

/** The first number in an argument, at any depth, that is not finite. */
function numberThatIsNot(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : value
  if (typeof value !== 'object' || value === null) return undefined
  for (const part of Object.values(value)) {
    const number = numberThatIsNot(part)
    if (number !== undefined) return number
  }
  return undefined
}
