/**
 * What a test file costs, for the report of the test command (`scripts/testing/times.mjs`): processor time, its own and that of
 * the processes that it started and that have ended; how many it started; how long it waited for servers to start.
 */
import type { ChildProcess } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { afterAll } from 'vitest'

/** Of Linux's clock, in which the times of children are told. */
const TICKS_PER_SECOND = 100

type Costs = {
  /** How many were started, by the name of the program. */
  readonly programs: Record<string, number>
  servers: number
  serversMs: number
}

declare module 'vitest' {
  interface TaskMeta {
    costs?: Costs & { readonly cpuMs: number; readonly childrenMs: number }
  }
}

/** One for each file, which the servers of the tests find as well. */
const place = globalThis as { punctualCosts?: Costs }

/** Counts a server, and the time until it answers. */
export async function startingServer<T>(start: () => Promise<T>): Promise<T> {
  const from = performance.now()
  try {
    return await start()
  } finally {
    const costs = place.punctualCosts
    if (costs !== undefined) {
      costs.servers += 1
      costs.serversMs += performance.now() - from
    }
  }
}

/** For each test file: until all of its hooks have run. */
export function measureFile(): void {
  const costs: Costs = { programs: {}, servers: 0, serversMs: 0 }
  place.punctualCosts = costs
  const before = { own: process.cpuUsage(), children: childrenMs() }
  const count = (message: unknown): void => {
    const { process: child } = message as { process: ChildProcess }
    child.once('spawn', () => {
      const name = basename(child.spawnfile)
      costs.programs[name] = (costs.programs[name] ?? 0) + 1
    })
  }
  subscribe('child_process', count)
  // Registered before those of the file, so that it runs after them: what they end is counted.
  // oxlint-disable-next-line no-empty-pattern -- Vitest reads from the pattern which fixtures a hook needs: none.
  afterAll(({}, file) => {
    unsubscribe('child_process', count)
    const { user, system } = process.cpuUsage(before.own)
    const cpuMs = (user + system) / 1_000
    file.meta.costs = { ...costs, cpuMs, childrenMs: childrenMs() - before.children }
  })
}

/** Those that have ended, and theirs; elsewhere than on Linux nothing tells it. */
function childrenMs(): number {
  try {
    // After the name in brackets, which may contain anything, comes field 3; 16 and 17 are the times of children.
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1)?.split(' ') ?? []
    return ((Number(fields[13]) + Number(fields[14])) * 1_000) / TICKS_PER_SECOND
  } catch {
    return 0
  }
}
