/**
 * Servers that all test files of a run share, each with a queue or a database of its own: the first file that needs one starts it,
 * and they end with the run. What stops a server, or configures it, starts one of its own.
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
  const place = mkdtempSync(join(tmpdir(), 'punctual-shared-'))
  process.env['PUNCTUAL_SHARED_SERVERS'] = place
  return () => {
    for (const name of readdirSync(place).filter((file) => file.endsWith('.json')))
      end(JSON.parse(readFileSync(join(place, name), 'utf8')) as SharedServer)
    rmSync(place, { recursive: true, force: true })
  }
}

/** The URL of the one of this kind; `start` makes it, in one of all processes that ask. */
export async function shared(kind: string, start: () => Promise<SharedServer>): Promise<string> {
  const place = process.env['PUNCTUAL_SHARED_SERVERS']
  if (place === undefined) throw new Error('shared servers need the set-up of the test run')
  const told = join(place, `${kind}.json`)
  const begun = join(place, `${kind}-begun`)
  try {
    await mkdir(begun) // The first one makes it.
  } catch {
    await until(`the shared ${kind} is there`, () => existsSync(told))
    return (JSON.parse(await readFile(told, 'utf8')) as SharedServer).url
  }
  const server = await start().catch(async (error: unknown) => {
    await rmdir(begun) // The next one may try.
    throw error
  })
  await writeFile(`${told}.new`, JSON.stringify(server))
  await rename(`${told}.new`, told)
  return server.url
}

function end({ pid, directory, signal }: SharedServer): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It ended before.
  }
  rmSync(directory, { recursive: true, force: true, maxRetries: 10 })
}
