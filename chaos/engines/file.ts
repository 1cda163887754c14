/**
 * One directory, shared by all processes. There is no server to strike: the disk fills, a stranger holds the lock, and
 * processes do the rest.
 */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Log } from '../children/log.mjs'
import { connect, isBusy, type SqlConnection } from '../../src/store/file/database/driver.ts'
import { Volume } from '../volume.ts'
import { sleep } from '../waiting.ts'
import type { Engine, Strike } from './engine.ts'

const VOLUME_MIB = 192

export class FileEngine implements Engine {
  readonly name = 'file'
  readonly remarks: readonly string[]
  readonly faults: Readonly<Record<string, number>>
  readonly faultGapMs = 15_000
  readonly forgets = []
  readonly isFreezeForAll = true
  readonly hasLimits = true
  readonly #volume: Volume

  constructor(directory: string) {
    this.#volume = new Volume(join(directory, 'volume'), VOLUME_MIB)
    this.remarks = this.#volume.remarks
    this.faults = { 'held lock': 1, ...(this.#volume.isMounted ? { 'full disk': 1 } : {}) }
  }

  async urlFor(): Promise<string> {
    return `file:${this.#store}`
  }

  async inflict(kind: string, { lastsMs, begins }: Strike): Promise<void> {
    switch (kind) {
      case 'full disk':
        begins('disk', true)
        await this.#volume.fill()
        await sleep(lastsMs)
        return this.#volume.clear()
      case 'held lock':
        begins('lock', true)
        return this.#holdLock(lastsMs)
      default:
        throw new Error(`a fault that nobody wrote: ${kind}`)
    }
  }

  /** As somebody would who left `sqlite3` open in the middle of a transaction. Others may have the lock for a while first. */
  async #holdLock(lastsMs: number): Promise<void> {
    const connection = connect(join(this.#store, 'queue.db'))
    try {
      connection.exec('PRAGMA busy_timeout = 100')
      while (!begin(connection)) await sleep(100)
      await sleep(lastsMs)
      connection.exec('ROLLBACK')
    } finally {
      connection.close()
    }
  }

  async heal(): Promise<void> {
    await this.#volume.clear()
  }

  async sample(log: Log): Promise<void> {
    const { blocks } = await stat(join(this.#store, 'queue.db'))
    log.write({ what: 'sample', disk: blocks * 512, keys: (await readdir(this.#store)).length })
  }

  /** A small disk that can be filled is one in memory. */
  isExpected(complaint: string): boolean {
    return this.#volume.isMounted && complaint.includes('lies in memory')
  }

  async leftovers(): Promise<readonly string[]> {
    const files = await readdir(this.#store)
    return files.filter((file) => !/^(?:queue\.db(?:-wal|-shm)?|reserve|wake-[0-9a-f]+)$/.test(file))
  }

  async end(): Promise<void> {
    this.#volume.end()
  }

  get #store(): string {
    return join(this.#volume.directory, 'store')
  }
}

function begin(connection: SqlConnection): boolean {
  try {
    connection.exec('BEGIN IMMEDIATE')
    return true
  } catch (error) {
    if (isBusy(error)) return false
    throw error
  }
}
