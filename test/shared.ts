/**
 * What all test files of a run share: the first file that needs it makes it, and it ends with the run. Servers, on which each file
 * has a queue or a database of its own (what stops a server, or configures it, starts one of its own), and the packed package.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { mkdir, readFile, rename, rmdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from './store/redis/until.ts'

/** What is told of one: its process is detached, ends by this signal, and leaves this directory. */
export type SharedServer = {
  readonly url: string
  readonly pid: number
  readonly directory: string
  readonly signal: 'SIGKILL' | 'SIGQUIT'
}

/** For the whole run, before its first file; answers what ends them. */
export function setup(): () => void {
  const place = mkdtempSync(join(tmpdir(), 'punctual-run-'))
  process.env['PUNCTUAL_SHARED'] = place
  return () => {
    for (const name of readdirSync(place).filter((file) => /^server-.*\.json$/.test(file)))
      end(JSON.parse(readFileSync(join(place, name), 'utf8')) as SharedServer)
    rmSync(place, { recursive: true, force: true })
  }
}

/** The URL of the one of this kind. */
export async function shared(kind: string, start: () => Promise<SharedServer>): Promise<string> {
  return (await once(`server-${kind}`, start)).url
}

/** What `make` answers in one of all processes that ask; it may leave files in `place`. */
export async function once<T>(name: string, make: (place: string) => Promise<T>): Promise<T> {
  const place = process.env['PUNCTUAL_SHARED']
  if (place === undefined) throw new Error('what a run shares needs the set-up of the run')
  const told = join(place, `${name}.json`)
  const begun = join(place, `${name}-begun`)
  try {
    await mkdir(begun) // The first one makes it.
  } catch {
    await until(`${name} is there`, () => existsSync(told))
    return JSON.parse(await readFile(told, 'utf8')) as T
  }
  const made = await make(place).catch(async (error: unknown) => {
    await rmdir(begun) // The next one may try.
    throw error
  })
  await writeFile(`${told}.new`, JSON.stringify(made))
  await rename(`${told}.new`, told)
  return made
}

function end({ pid, directory, signal }: SharedServer): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It ended before.
  }
  rmSync(directory, { recursive: true, force: true, maxRetries: 10 })
}
