/**
 * One open directory. LMDB must not be opened twice by one process, and calls of all queues in a directory can
 * share commits, so every store handle of this process on the same directory shares one of these; the last to
 * leave closes it.
 */
import { realpath } from 'node:fs/promises'
import path from 'node:path'
import { endsWithin, systemClock } from '../../clock.ts'
import { UsageError } from '../../core/errors.ts'
import type { Logger } from '../../core/log.ts'
import { Committer } from './committer.ts'
import {
  FORMAT_VERSION,
  foreignError,
  inspectDirectory,
  sealDirectory,
  tooNewError,
  type DirectoryState,
} from './directory.ts'
import { explainFailure } from './failure.ts'
import { metaKey, queueKey } from './keys.ts'
import { makeDirectory } from './make-directory.ts'
import { decodeNumber, encodeNumber } from './number.ts'
import { corrupt } from './seal.ts'
import { Tail, checkTail } from './tail.ts'
import { Tree } from './tree.ts'
import { WakeChannel } from './wake.ts'

/** `full`: resolved means on the disk. `off`: resolved means with the operating system. */
export type SyncMode = 'full' | 'off'

/** Address space, not memory or disk: the file grows as it must, and never finds the map too small. */
const MAP_BYTES = 2 ** 40
/** Readers at once in all processes; a process has a few. */
const READERS_MAX = 1024
/** How long the end of a call, and then of the tree, is waited for. */
export const CLOSE_MS_MAX = 1000
const FORMAT_KEY = metaKey('format')
const LAST_QUEUE_KEY = metaKey('last queue')

export class Environment {
  readonly directory: string
  readonly sync: SyncMode
  readonly tree: Tree
  readonly committer: Committer
  readonly #logger: Logger
  readonly #channels = new Map<number, WakeChannel>()

  constructor(directory: string, sync: SyncMode, tree: Tree, logger: Logger) {
    this.directory = directory
    this.sync = sync
    this.tree = tree
    this.#logger = logger
    const tail = new Tail(directory, tree)
    this.committer = new Committer({
      tree,
      beforeCommit: () => tail.keepAhead(),
      explain: (error) => explainFailure(error, directory),
      onWakes: (queues) => {
        for (const queue of queues) this.#channels.get(queue)?.wake()
      },
    })
  }

  /** The number of a queue, given to it when it is first heard of. */
  async queueNumber(name: string): Promise<number> {
    const key = queueKey(name)
    this.tree.refresh()
    const known = this.tree.get(key)
    if (known !== undefined) return decodeNumber(known)
    return this.committer.commit(1, ({ tree }) => {
      const raced = tree.get(key)
      if (raced !== undefined) return decodeNumber(raced)
      const last = tree.get(LAST_QUEUE_KEY)
      const number = (last === undefined ? 0 : decodeNumber(last)) + 1
      tree.put(LAST_QUEUE_KEY, encodeNumber(number))
      tree.put(key, encodeNumber(number))
      return number
    })
  }

  async channel(queue: number): Promise<WakeChannel> {
    const known = this.#channels.get(queue)
    if (known !== undefined) return known
    const channel = new WakeChannel(path.join(this.directory, `wake-${queue}`), this.#logger)
    this.#channels.set(queue, channel)
    await channel.open()
    return channel
  }

  /**
   * Waits for what is under way, but not for ever: another process may be stopped while it holds the write lock. What
   * is then still under way is given up, and the file is left to the end of the process, which leaves it whole.
   */
  async close(): Promise<void> {
    if (
      !(await endsWithin(
        systemClock,
        CLOSE_MS_MAX,
        this.committer.close().catch(() => undefined),
      ))
    )
      this.committer.abandon()
    for (const channel of this.#channels.values()) await channel.close()
    if (
      !(await endsWithin(
        systemClock,
        CLOSE_MS_MAX,
        this.tree.close().catch(() => undefined),
      ))
    ) {
      this.#logger.warn(`${this.directory} could not be closed: another process keeps its lock.`)
    }
  }
}

type Shared = { readonly environment: Promise<Environment>; readonly sync: SyncMode; handles: number }

const open = new Map<string, Shared>()
/** Directories on their way out: who wants one of them again waits for the end. */
const closing = new Map<string, Promise<void>>()

export async function acquireEnvironment(
  given: string,
  sync: SyncMode,
  logger: Logger,
): Promise<Environment> {
  const directory = await realDirectory(given)
  while (closing.has(directory)) await closing.get(directory)
  let shared = open.get(directory)
  if (shared === undefined) {
    shared = { environment: openEnvironment(directory, sync, logger), sync, handles: 0 }
    open.set(directory, shared)
  }
  if (shared.sync !== sync) {
    throw new UsageError(
      'OPTION_INVALID',
      `${directory} is already open in this process with sync=${shared.sync}; use the same here.`,
      { value: sync },
    )
  }
  shared.handles += 1
  try {
    return await shared.environment
  } catch (error) {
    if (open.get(directory) === shared) open.delete(directory)
    throw error
  }
}

/** One name per directory, however it was written. */
async function realDirectory(given: string): Promise<string> {
  await makeDirectory(given)
  try {
    return await realpath(given)
  } catch (error) {
    throw await explainFailure(error, given)
  }
}

export async function releaseEnvironment(environment: Environment): Promise<void> {
  const { directory } = environment
  const shared = open.get(directory)
  if (shared === undefined) return
  shared.handles -= 1
  if (shared.handles > 0) return
  open.delete(directory)
  const end = environment.close().finally(() => closing.delete(directory))
  closing.set(directory, end)
  await end
}

async function openEnvironment(directory: string, sync: SyncMode, logger: Logger): Promise<Environment> {
  const state = await inspect(directory)
  const tree = await openTree(directory, sync, state)
  const environment = new Environment(directory, sync, tree, logger)
  try {
    await checkTreeFormat(environment, state)
    if (state === 'new') await sealDirectory(directory)
    // Opening may have set the last commit back; whoever writes next finds that, but those who only read do not.
    if (!tree.isCurrent()) await environment.committer.commit(0, () => {})
    return environment
  } catch (error) {
    await environment.close()
    throw await explainFailure(error, directory)
  }
}

async function inspect(directory: string): Promise<DirectoryState> {
  try {
    const state = await inspectDirectory(directory)
    if (state === 'ours') await checkTail(directory)
    return state
  } catch (error) {
    throw await explainFailure(error, directory)
  }
}

async function openTree(directory: string, sync: SyncMode, state: DirectoryState): Promise<Tree> {
  const lmdb = await import('lmdb')
  try {
    const database = lmdb.open<Buffer, Buffer>({
      path: directory,
      noSubdir: false,
      encoding: 'binary',
      keyEncoding: 'binary',
      mapSize: MAP_BYTES,
      maxReaders: READERS_MAX,
      // A promise then means: data written and synced, then the page that points to it, written and synced.
      overlappingSync: false,
      noSync: sync === 'off',
      // The committer forms the groups; a second round of gathering would only add a turn of the loop.
      eventTurnBatching: false,
    })
    return new Tree(directory, database)
  } catch (error) {
    if (state === 'new') throw foreignError(directory, 'its data.mdb was not made by punctual', error)
    throw await explainFailure(error, directory)
  }
}

async function checkTreeFormat(environment: Environment, state: DirectoryState): Promise<void> {
  const { tree, directory, committer } = environment
  const value = tree.get(FORMAT_KEY)
  if (value !== undefined) {
    const version = decodeNumber(value)
    if (version > FORMAT_VERSION) throw tooNewError(directory, version)
    return
  }
  if (state === 'ours') throw corrupt(`${directory}/data.mdb holds nothing that punctual wrote`)
  if (tree.keys({ start: Buffer.of(0), end: Buffer.of(0xff) }, 1).length > 0) {
    throw foreignError(directory, 'its data.mdb was not made by punctual')
  }
  await committer.commit(1, (ledger) => ledger.tree.put(FORMAT_KEY, encodeNumber(FORMAT_VERSION)))
}
