/** A small filesystem of its own, so that a disk can be full. Needs the right to mount one. */
import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'

const CHUNK = Buffer.alloc(1024 * 1024)

export class Volume {
  readonly directory: string
  readonly isMounted: boolean

  /** Where mounting is not allowed it is a plain directory, which cannot be filled. */
  constructor(directory: string, mebibytes: number) {
    this.directory = directory
    mkdirSync(directory, { recursive: true })
    this.isMounted = mount(directory, mebibytes)
  }

  /** What the reader should know before a storm. */
  get remarks(): readonly string[] {
    return this.isMounted ? [] : ['mounting a tmpfs is not allowed here: the disk is never full in this run']
  }

  /** To the last byte. */
  async fill(): Promise<void> {
    const ballast = await open(this.#ballast, 'a')
    try {
      for (;;) await ballast.write(CHUNK)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    } finally {
      await ballast.close()
    }
  }

  async clear(): Promise<void> {
    await rm(this.#ballast, { force: true })
  }

  end(): void {
    if (this.isMounted) execFileSync('umount', ['--lazy', this.directory], { stdio: 'ignore' })
  }

  get #ballast(): string {
    return join(this.directory, 'ballast')
  }
}

function mount(directory: string, mebibytes: number): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', directory], {
      stdio: 'ignore',
    })
    return true
  } catch {
    return false
  }
}
