/**
 * An engine, as it registers itself: `store/<engine>/engine.ts` makes one of these, and `engines.ts` lists it. Nothing
 * else outside the engine's folder knows that it exists.
 *
 * The registration is loaded with the package, so it holds only what must be known before a store is opened: names,
 * options, texts. Its functions load the engine itself when they are called.
 */
import type { Clock } from '../clock.ts'
import type { Logger } from '../core/log.ts'
import type { Random } from '../random.ts'
import type { Store } from './contract/store.ts'
import type { ForeignPlace, ForeignQueue } from './foreign.ts'

/** What an engine is given when it makes a store. */
export type StoreContext = {
  /** Queues in one store share nothing. */
  readonly queue: string
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
}

/** `Client`: the objects that it takes instead of a URL. */
export interface Engine<Client extends object = object> {
  readonly name: string
  /** The beginnings of its URLs, with the colon. */
  readonly schemes: readonly string[]
  /** How its URLs look, in the words of the help: `file:PATH`. */
  readonly urls: readonly string[]
  /** A URL that works on many machines. */
  readonly example: string
  /** One line for people who choose an engine. */
  readonly help: string
  /** Who can see one of its stores: this process, the processes of this machine, or other machines too. */
  readonly reach: 'process' | 'machine' | 'network'
  /** The options of `new Punctual({ ... })` that only this engine has. */
  readonly options: Readonly<Record<string, EngineOption>>
  /** Objects that a user may give instead of a URL; undefined for an engine that takes URLs only. */
  readonly client?: EngineClientSpec<Client>

  /** A store that is not open yet. `options` holds what `parse` of each given option answered. */
  open(target: string | Client, context: StoreContext, options: EngineOptionValues): Promise<Store>
  /** Whether the URL names a store that is there, as far as the engine can tell without making it. */
  exists(url: string): Promise<boolean>
  /** What is missing where `exists` answers no, and what makes it. Absent: a store is made when it is first used. */
  absence?(url: string): Promise<string>
  /** Rejects at once where it is certain that no store answers at this URL. Resolves where it is not certain. */
  probe(url: string): Promise<void>
  /** The names of the queues in a store; bounded work. */
  queues(target: string | Client, context: QueuesContext): Promise<QueueList>
  /** Brings what the store keeps to the form that this version reads. Undefined: there was nothing to do, or it is not told. */
  migrate(target: string | Client, context: QueuesContext): Promise<DoneMigration | undefined>
  /** Queues of other packages that lie in the same servers, and can be imported from there. */
  readonly foreign?: readonly ForeignSource[]
  /** What `migrate` sends to the server, for someone who runs it himself; undefined where there are no statements. */
  migrationText?(url: string): Promise<string>
}

export type DoneMigration = {
  /** As a sentence names it: `the schema punctual`. */
  readonly what: string
  /** Versions; from 0: it was made. */
  readonly from: number
  readonly to: number
}

export type QueuesContext = Omit<StoreContext, 'queue'>

export type EngineOption = {
  /** One line for the help. */
  readonly help: string
  /** Throws a UsageError that names the option. */
  readonly parse: (value: unknown) => unknown
}

export type EngineOptionValues = Readonly<Record<string, unknown>>

export type EngineClientSpec<Client extends object> = {
  /** What the object is, in a sentence: "a client of ...". */
  readonly what: string
  /** Throws a UsageError for an object that looks like one and cannot be used. */
  readonly accepts: (value: object) => value is Client
}

export type QueueList = {
  /** In the order of the alphabet. */
  readonly names: readonly string[]
  /** False when there may be more: the engine looks at a bounded part of a store. */
  readonly isComplete: boolean
}

/** Another package whose queues can be read. */
export type ForeignSource = {
  /** Its name, as `punctual import NAME` takes it. */
  readonly name: string
  /** What its keys begin with unless told otherwise. */
  readonly prefix: string
  /** It has priorities of its own order, for which `--priorities` means nothing. */
  readonly hasRanks?: true
  /** What is imported can be cancelled there. */
  readonly canTake?: true
  readonly open: (url: string, where: ForeignPlace, context: QueuesContext) => Promise<ForeignQueue>
}
