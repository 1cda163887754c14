/** What every child program needs: its arguments, the build it runs, and a line to its parent. */
import { writeSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'

/** @type {{ build: string, directory: string, queue?: string, seed: number, name: string, count: number, stop: string, leaseMs: number, now: number, sync?: string, release?: string, start: string }} */
export const args = JSON.parse(process.argv[2])

export const fromBuild = (file) => import(pathToFileURL(path.join(args.build, file)).href)

/** Synchronous, so that whatever was said before a SIGKILL was really said. */
export const say = (line) => writeSync(1, `${line}\n`)
