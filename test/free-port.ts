/**
 * Ports for servers of tests. Below those that the system gives to outgoing connections, so that none of them takes the port of a
 * server that was killed and comes back; and each to one asker only, in all runs of this machine: between the look at a port and the
 * start of a server another one could be handed the same, and would answer in its place.
 */
import { once } from 'node:events'
import { mkdir, readdir, rmdir } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'

/** Linux gives out 32768 and above, others 49152 and above. */
const FIRST = 20_000
const COUNT = 12_000

export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * COUNT)
    if ((await isUnbound(port)) && (await reserve(port))) return port
  }
}

/** Each run has a folder, which goes with it: `test/shared.ts`. */
async function reserve(port: number): Promise<boolean> {
  const place = process.env['PUNCTUAL_SHARED']
  if (place === undefined) return true
  const mark = join(place, `port-${port}`)
  try {
    await mkdir(mark)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    return false
  }
  const runs = (await readdir(dirname(place))).filter((name) => name.startsWith('punctual-run-'))
  const others = runs.filter((name) => name !== basename(place))
  const marks = await Promise.all(others.map((name) => isThere(join(tmpdir(), name, basename(mark)))))
  if (!marks.includes(true)) return true
  await rmdir(mark) // Both may step back: there are many ports.
  return false
}

async function isThere(path: string): Promise<boolean> {
  return readdir(path).then(
    () => true,
    () => false,
  )
}

async function isUnbound(port: number): Promise<boolean> {
  const probe = createServer()
  try {
    const heard = once(probe, 'listening')
    probe.listen(port, '127.0.0.1')
    await heard
  } catch {
    return false
  }
  const closed = once(probe, 'close')
  probe.close()
  await closed
  return true
}
