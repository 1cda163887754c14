/**
 * Who holds leases: one started queue. Its name says where it runs, so that a person finds the process, and ends in a
 * word of chance, so that no two are ever the same. What a worker tells about
 * itself, its facts, goes with its claims as text; engines do not read them.
 *
 * An owner may speak for workers elsewhere, to whom it hands out what it leased. Those workers live on when the owner's
 * process ends. The owner's name therefore says that it is remote: an engine that can prove a process dead must not take
 * the leases of such an owner over before they end.
 */

export type OwnerParts = {
  readonly host: string
  readonly pid: number
  /** Epoch milliseconds. */
  readonly startedAt: number
  /** Uniform in [0, 1). */
  readonly chance: number
  /** It speaks for workers elsewhere. */
  readonly isRemote?: boolean
}

/** `host:pid:start:word`, and `:remote` where it speaks for workers elsewhere. A host name is cut, because every lease carries the owner. */
export function ownerName({ host, pid, startedAt, chance, isRemote }: OwnerParts): string {
  const where = host.replaceAll(/[^\x21-\x39\x3b-\x7e]/g, '_').slice(0, HOST_MAX)
  const word = Math.floor(chance * 36 ** WORD_LENGTH)
    .toString(36)
    .padStart(WORD_LENGTH, '0')
  return `${where}:${pid}:${Math.floor(startedAt).toString(36)}:${word}${isRemote === true ? REMOTE : ''}`
}

/** Whether its leases are held by others, who may live on when its process is dead. */
export function speaksForOthers(owner: string): boolean {
  return owner.endsWith(REMOTE)
}

const REMOTE = ':remote'

const HOST_MAX = 40
const WORD_LENGTH = 8

export type WorkerFacts = {
  readonly version: string
  readonly host: string
  readonly pid: number
  /** Epoch milliseconds, by the worker's own clock. */
  readonly startedAt: number
  /** The first 200 of its topics, and how many it has. */
  readonly topics: readonly string[]
  readonly topicCount: number
  readonly running: number
  readonly slots: number
  /** How many messages a second it could work off, by its slots and how long its handlers took; absent before one has ended. */
  readonly perSecond?: number
}

const TOPICS_TOLD_MAX = 200

export function encodeFacts(facts: WorkerFacts): string {
  return JSON.stringify({ ...facts, topics: facts.topics.slice(0, TOPICS_TOLD_MAX) })
}

/** Undefined when the text is not one that `encodeFacts` makes: another version may have written it. */
export function decodeFacts(text: string): WorkerFacts | undefined {
  try {
    const facts: unknown = JSON.parse(text)
    return isFacts(facts) ? facts : undefined
  } catch {
    return undefined
  }
}

function isFacts(value: unknown): value is WorkerFacts {
  if (typeof value !== 'object' || value === null) return false
  const facts = value as Readonly<Record<keyof WorkerFacts, unknown>>
  return (
    typeof facts.version === 'string' &&
    typeof facts.host === 'string' &&
    [facts.pid, facts.startedAt, facts.topicCount, facts.running, facts.slots].every(
      (number) => typeof number === 'number',
    ) &&
    (facts.perSecond === undefined || typeof facts.perSecond === 'number') &&
    Array.isArray(facts.topics) &&
    facts.topics.every((topic) => typeof topic === 'string')
  )
}
