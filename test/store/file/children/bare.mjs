/** What every child program needs: its arguments, the build it runs, and a line to its parent. */
import { writeSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'

/** @type {{ build: string, directory: string, queue?: string, seed: number, name: string, count: number, stop: string, leaseMs: number, now: number, sync?: string, release?: string, start: string }} */
export const args = JSON.parse(process.argv[2])

export const fromBuild = (file) => import(pathToFileURL(path.join(args.build, file)).href)

/** Synchronous, so that everything said before a SIGKILL was really said. Waits while the parent has not read the pipe. */
export function say(line) {
  const bytes = Buffer.from(`${line}\n`)
  for (let written = 0; written < bytes.length;) {
    try {
      written += writeSync(1, bytes, written)
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error
      Atomics.wait(NAP, 0, 0, 1)
    }
  }
}

const NAP = new Int32Array(new SharedArrayBuffer(4))
