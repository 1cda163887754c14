/** Who works on the queue, as its workers told the store with their claims. */
import { decodeFacts, type WorkerFacts } from '../../core/owner.ts'
import type { Store, WorkerRecord } from '../../store/contract/store.ts'
import { pauseOf, readControls, type ControlsInForce } from '../changing/controls.ts'

export type FoundWorker = {
  /** One started queue. `get` and `list` name it as the owner of what runs. */
  readonly owner: string
  /**
   * `gone`: it said goodbye. `silent`: it did not, and has not been heard of for two minutes: it crashed, or is cut off
   * from the store.
   */
  readonly state: 'alive' | 'silent' | 'gone'
  /** Epoch milliseconds, by the store's clock. `lastSeenAt` may be a minute old. */
  readonly firstSeenAt: number
  readonly lastSeenAt: number
  readonly goneAt?: number
  /** Topics of its own that are paused now, so that it leaves them alone; absent when none is. */
  readonly pausedTopics?: readonly string[]
  /** What it said of itself; absent when a version that this one cannot read said it. */
  readonly facts?: WorkerFacts
}

/** A worker tells its facts at least every 30 seconds, and the store writes them down at least every minute. */
const SILENT_AFTER_MS = 120_000

/** The store forgets those that left after this time; those that fell silent it cannot tell from the living. */
const SILENT_SHOWN_MS = 3_600_000

/** `missing`: partitions that did not answer, by name; workers that only they know are not in the list. Absent where all did. */
export type FoundWorkers = FoundWorker[] & { readonly missing?: readonly string[] }

/** Last seen first. `known`: the controls, where the caller has read them already. */
export async function readWorkers(store: Store, known?: ControlsInForce): Promise<FoundWorkers> {
  const [{ now, workers, missing }, controls] = await Promise.all([
    store.workers(),
    known ?? readControls(store),
  ])
  // Where nothing is shared, workers live in this very process, and an idle one has no reason to ask.
  const silentAfterMs = store.capabilities.shared ? SILENT_AFTER_MS : Infinity
  const found = workers
    .map((record) => withPauses(present(record, now - silentAfterMs), controls))
    .filter(({ state, lastSeenAt }) => state !== 'silent' || now - lastSeenAt < SILENT_SHOWN_MS)
  return missing === undefined ? found : Object.assign(found, { missing })
}

function present(record: WorkerRecord, silentBefore: number): FoundWorker {
  const { owner, firstSeenAt, lastSeenAt, goneAt } = record
  const facts = decodeFacts(record.facts)
  return {
    owner,
    state: goneAt !== undefined ? 'gone' : lastSeenAt < silentBefore ? 'silent' : 'alive',
    firstSeenAt,
    lastSeenAt,
    ...(goneAt === undefined ? {} : { goneAt }),
    ...(facts === undefined ? {} : { facts }),
  }
}

function withPauses(worker: FoundWorker, controls: ControlsInForce): FoundWorker {
  if (controls.all.length === 0) return worker
  const pausedTopics = worker.facts?.topics.filter((topic) => pauseOf(controls, topic) !== undefined) ?? []
  return pausedTopics.length === 0 ? worker : { ...worker, pausedTopics }
}

/** Whether it handles something, as far as is known: one without topics, such as a server, only fires schedules. */
export function mayHandle({ facts }: FoundWorker): boolean {
  return facts?.topicCount !== 0
}

export function living(workers: readonly FoundWorker[]): readonly FoundWorker[] {
  return workers.filter((worker) => worker.state === 'alive' && mayHandle(worker))
}

/** The living workers that handle a topic. Undefined: none says so, and not all of them tell all of their topics. */
export function handlersOf(
  topic: string,
  workers: readonly FoundWorker[],
): readonly FoundWorker[] | undefined {
  const alive = living(workers)
  const handling = alive.filter(({ facts }) => facts?.topics.includes(topic))
  return handling.length > 0 || alive.every(tellsAll) ? handling : undefined
}

function tellsAll({ facts }: FoundWorker): boolean {
  return facts !== undefined && facts.topics.length >= facts.topicCount
}
