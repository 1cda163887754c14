/**
 * The commands:
 *
 *   npm run failover -- --rounds 20 --durability replicated [--replicas 1] [--seed 1] [--json]
 *   npm run failover -- away [--seconds 60] [--partitions 16] [--rate 200] [--json]
 *   npm run failover -- idle [--workers 64] [--partitions 16] [--settle 90] [--seconds 120] [--json]
 *
 * Exit code 1 if something acknowledged is lost although durability is "replicated", if a cluster with a dead master loses
 * something or starts it early, or if idle workers call more often than they should.
 */
import { parseArgs } from 'node:util'
import { measureAway } from './away.ts'
import { measureIdle } from './idle.ts'
import { runFailovers } from './rounds.ts'

const USAGE = `usage: npm run failover -- [--rounds 5] [--durability primary|replicated] [--replicas 1] [--seed N] [--json]
       npm run failover -- away [--seconds 60] [--partitions 16] [--rate 200] [--json]
       npm run failover -- idle [--workers 64] [--partitions 16] [--settle 90] [--seconds 120] [--json]`

/** What 64 idle workers on 16 partitions may call in a second, all together. */
const IDLE_CALLS_MAX = 16

type Flags = Readonly<Record<string, string>>
type Outcome = { readonly result: object; readonly isBroken: boolean }

const DEFAULTS: Readonly<Record<string, Flags>> = {
  rounds: {
    rounds: '5',
    durability: 'replicated',
    replicas: '1',
    seed: String(Date.now() % 1_000_000),
  },
  away: { seconds: '60', partitions: '16', rate: '200' },
  idle: { workers: '64', partitions: '16', settle: '90', seconds: '120' },
}

function parse(): { readonly word: string; readonly flags: Flags; readonly json: boolean } | undefined {
  const [first = '', ...rest] = process.argv.slice(2)
  const word = first in DEFAULTS ? first : 'rounds'
  const defaults = DEFAULTS[word] as Flags
  const options = Object.entries(defaults).map(
    ([name, value]) => [name, { type: 'string', default: value }] as const,
  )
  try {
    const { values } = parseArgs({
      args: word === first ? rest : process.argv.slice(2),
      options: { ...Object.fromEntries(options), json: { type: 'boolean', default: false } },
    })
    const { json = false, ...flags } = values as { json?: boolean } & Record<string, string>
    const isSound = Object.entries(flags).every(
      ([name, value]) => name === 'durability' || isCount(value, name === 'seed' ? 0 : 1),
    )
    const durability = flags['durability'] ?? 'primary'
    return isSound && ['primary', 'replicated'].includes(durability) ? { word, flags, json } : undefined
  } catch {
    return undefined
  }
}

function isCount(value: string, min: number): boolean {
  return Number.isSafeInteger(Number(value)) && Number(value) >= min
}

async function run(word: string, flags: Flags): Promise<Outcome> {
  const number = (name: string): number => Number(flags[name])
  switch (word) {
    case 'away': {
      const [seconds, partitions, rate] = [number('seconds'), number('partitions'), number('rate')]
      const result = await measureAway({ seconds, partitions, rate, say })
      return { result, isBroken: result.lost + result.early > 0 }
    }
    case 'idle': {
      const [workers, partitions] = [number('workers'), number('partitions')]
      const result = await measureIdle({
        workers,
        partitions,
        settleS: number('settle'),
        seconds: number('seconds'),
        say,
      })
      return { result, isBroken: result.callsPerSecond > IDLE_CALLS_MAX }
    }
    default: {
      const durability = flags['durability'] === 'primary' ? 'primary' : 'replicated'
      const [rounds, replicas, seed] = [number('rounds'), number('replicas'), number('seed')]
      const result = await runFailovers({ rounds, durability, replicas, seed, say })
      const isBroken = result.lost + result.cancelledBack + result.completedAgain > 0
      return { result, isBroken: isBroken && durability === 'replicated' }
    }
  }
}

function render(result: object): string {
  return Object.entries(result)
    .map(([name, value]) => `${name.padEnd(18)}${typeof value === 'object' ? JSON.stringify(value) : value}`)
    .join('\n')
}

function say(line: string): void {
  process.stderr.write(`${line}\n`)
}

async function main(): Promise<number> {
  const asked = parse()
  if (asked === undefined) {
    say(USAGE)
    return 2
  }
  const { result, isBroken } = await run(asked.word, asked.flags)
  process.stdout.write(`${asked.json ? JSON.stringify(result) : render(result)}\n`)
  return isBroken ? 1 : 0
}

process.exitCode = await main()
