/**
 * What is known of a move, kept in the stores themselves, so that one that was killed goes on where it was, from any
 * machine:
 *
 *   in the source   one message of our own: which move, how far it is, and the controls from before it
 *   in the target   one message of our own named after the move: proof that it is this target, and its controls from before
 *
 * Of several processes that want to go on, one holds the lease of the first: one that lost it must not place anything more,
 * because the target may run already what an old page still shows. It is held before each page.
 */
import type { Clock } from '../../clock.ts'
import { CONTROL_MARK, MOVES_TOPIC } from '../../core/control.ts'
import { FOREVER } from '../../core/controls.ts'
import { UsageError } from '../../core/errors.ts'
import type { ControlState, DueTime, Lease, NewMessage, Store } from '../../store/contract/store.ts'
import { giveBackLapsed } from './standstill.ts'

export const MOVE_ID = `${CONTROL_MARK}move`
const LOOK_MS = 500

export type MoveRecord = {
  readonly move: string
  /** `moved`: all of it is in the target, which goes on. */
  readonly phase: 'moving' | 'moved'
  /** Of the source, from before it was paused for this. */
  readonly controls: readonly ControlState[]
}

/** What the target knows of a move that fills it. */
export type ArrivalRecord = { readonly controls: readonly ControlState[] }

export type JournalParts = {
  readonly store: Store
  readonly clock: Clock
  readonly owner: string
  readonly leaseMs: number
}

export class MoveJournal {
  readonly #parts: JournalParts
  #lease: Lease
  record: MoveRecord

  private constructor(parts: JournalParts, lease: Lease) {
    this.#parts = parts
    this.#lease = lease
    this.record = JSON.parse(lease.body) as MoveRecord
  }

  /** Takes the journal that is there. Waits for the lease of a process that was killed; rejects while another one lives. */
  static async take(parts: JournalParts): Promise<MoveJournal> {
    const { clock, leaseMs } = parts
    const givesUpAt = clock.monotonic() + 2 * leaseMs
    for (;;) {
      const lease = await claimJournal(parts)
      if (lease !== undefined) return new MoveJournal(parts, lease)
      await giveBackLapsed(parts)
      if (clock.monotonic() >= givesUpAt) throw takenError()
      await new Promise<void>((resolve) => clock.schedule(LOOK_MS, resolve))
    }
  }

  /** Rejects if another process has taken over. */
  async hold(): Promise<void> {
    const [result] = await this.#parts.store.extend([this.#lease], this.#parts.leaseMs)
    if (result === 'lost') throw takenError()
  }

  async write(record: MoveRecord): Promise<void> {
    const { id, token, topic } = this.#lease
    const content = { body: JSON.stringify(record), meta: '' }
    const when = { delayMs: 0 }
    const again = { kind: 'again', id, token, topic, when, content } as const
    let [result] = await this.#parts.store.settle([again])
    while (result === 'locked') {
      await new Promise<void>((resolve) => this.#parts.clock.schedule(LOOK_MS, resolve))
      ;[result] = await this.#parts.store.settle([again])
    }
    const lease = result === 'settled' ? await claimJournal(this.#parts) : undefined
    if (lease === undefined) throw takenError()
    this.#lease = lease
    this.record = record
  }

  /** Lets others go on with it. */
  async leave(): Promise<void> {
    const { id, token, topic } = this.#lease
    await this.#parts.store.settle([{ kind: 'release', id, token, topic }])
    await this.#parts.store.leave(this.#parts.owner)
  }
}

export async function readJournal(store: Store): Promise<MoveRecord | undefined> {
  return readOwn<MoveRecord>(store, MOVE_ID)
}

export async function readArrival(store: Store, move: string): Promise<ArrivalRecord | undefined> {
  return readOwn<ArrivalRecord>(store, arrivalId(move))
}

/** If one is there already, it stays. */
export async function beginJournal(store: Store, record: MoveRecord): Promise<void> {
  await store.put([ownMessage(MOVE_ID, record, { delayMs: 0 })])
}

export async function announceArrival(store: Store, move: string, record: ArrivalRecord): Promise<void> {
  await store.put([ownMessage(arrivalId(move), record, { at: FOREVER })])
}

export async function forgetArrival(store: Store, move: string): Promise<void> {
  await store.remove([arrivalId(move)], 'waiting')
}

export async function forgetJournal(store: Store): Promise<void> {
  await store.remove([MOVE_ID], 'waiting')
}

function arrivalId(move: string): string {
  return `${CONTROL_MARK}move:${move}`
}

function ownMessage(id: string, record: MoveRecord | ArrivalRecord, when: DueTime): NewMessage {
  const body = JSON.stringify(record)
  return { id, topic: MOVES_TOPIC, body, meta: '', priority: 0, when, ifExists: 'keep' }
}

async function readOwn<T>(store: Store, id: string): Promise<T | undefined> {
  const [found] = (await store.inspect({ ids: [id] })).items
  return found === undefined ? undefined : (JSON.parse(found.body) as T)
}

/** What announces a move into this queue is never due, so that the journal is all that can be claimed. */
async function claimJournal({ store, owner, leaseMs }: JournalParts): Promise<Lease | undefined> {
  const wants = [{ topic: MOVES_TOPIC, limit: 1 }]
  const request = { from: 'due', owner, wants, limit: 1, bytesMax: BYTES_MAX, leaseMs, leadMs: 0 } as const
  return (await store.claim(request)).leases[0]
}

const BYTES_MAX = 64 * 1024 * 1024

function takenError(): UsageError {
  return new UsageError(
    'MOVE_REFUSED',
    'another process moves this queue; let it end, or end it, and run the same move again.',
  )
}
