/** Who claims, for engines that live in this process: seen at each claim, gone when it left. */
import type { WorkerRecord } from '../contract/store.ts'

export const WORKERS_MAX = 1_000
/** How long one that left is still shown. */
export const GONE_KEPT_MS = 3_600_000

export class WorkerList {
  /** The one seen last is at the end. */
  readonly #records = new Map<string, WorkerRecord>()

  see(owner: string, facts: string | undefined, now: number): void {
    const before = this.#records.get(owner)
    this.#records.delete(owner)
    this.#records.set(owner, {
      owner,
      facts: facts ?? before?.facts ?? '',
      firstSeenAt: before?.firstSeenAt ?? now,
      lastSeenAt: now,
    })
    if (this.#records.size > WORKERS_MAX) this.#dropOne(now)
  }

  leave(owner: string, now: number): void {
    const record = this.#records.get(owner)
    if (record !== undefined && record.goneAt === undefined)
      this.#records.set(owner, { ...record, goneAt: now })
  }

  /** Last seen first. */
  list(now: number): WorkerRecord[] {
    for (const [owner, record] of this.#records) if (isForgotten(record, now)) this.#records.delete(owner)
    return [...this.#records.values()].toReversed()
  }

  /** Those that left go first, then the one that was not seen for longest. */
  #dropOne(now: number): void {
    this.list(now)
    if (this.#records.size <= WORKERS_MAX) return
    const records = [...this.#records.values()]
    const last = records.find(({ goneAt }) => goneAt !== undefined) ?? records[0]
    if (last !== undefined) this.#records.delete(last.owner)
  }
}

export function isForgotten({ goneAt }: WorkerRecord, now: number): boolean {
  return goneAt !== undefined && now - goneAt >= GONE_KEPT_MS
}
