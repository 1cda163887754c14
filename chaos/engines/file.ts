/** One directory, shared by all processes. There is no server to strike: the disk fills, and processes do the rest. */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Log } from '../children/log.mjs'
import { Volume } from '../volume.ts'
import { sleep } from '../waiting.ts'
import type { Engine, Strike } from './engine.ts'

const VOLUME_MIB = 192

export class FileEngine implements Engine {
  readonly name = 'file'
  readonly remarks: readonly string[]
  readonly faults: Readonly<Record<string, number>>
  readonly faultGapMs = 15_000
  readonly isFreezeForAll = true
  readonly #volume: Volume

  constructor(directory: string) {
    this.#volume = new Volume(join(directory, 'volume'), VOLUME_MIB)
    this.remarks = this.#volume.isMounted
      ? []
      : ['mounting a tmpfs is not allowed here: the disk is never full in this run']
    this.faults = this.#volume.isMounted ? { 'full disk': 1 } : {}
  }

  async urlFor(): Promise<string> {
    return `file:${this.#store}`
  }

  async inflict(kind: string, { lastsMs, begins }: Strike): Promise<void> {
    if (kind !== 'full disk') throw new Error(`a fault that nobody wrote: ${kind}`)
    begins('disk', true)
    await this.#volume.fill()
    await sleep(lastsMs)
    await this.#volume.clear()
  }

  async heal(): Promise<void> {
    await this.#volume.clear()
  }

  async sample(log: Log): Promise<void> {
    const { blocks } = await stat(join(this.#store, 'data.mdb'))
    log.write({ what: 'sample', disk: blocks * 512, keys: (await readdir(this.#store)).length })
  }

  /** A small disk that can be filled is one in memory. */
  isExpected(complaint: string): boolean {
    return this.#volume.isMounted && complaint.includes('lies in memory')
  }

  async leftovers(): Promise<readonly string[]> {
    const files = await readdir(this.#store)
    return files.filter((file) => !/^(?:format|data\.mdb|lock\.mdb|wake-\d+)$/.test(file))
  }

  async end(): Promise<void> {
    this.#volume.end()
  }

  get #store(): string {
    return join(this.#volume.directory, 'store')
  }
}
