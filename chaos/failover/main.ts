/**
 * The command:
 *
 *   npm run failover -- --rounds 20 --durability replicated [--replicas 1] [--seed 1] [--json]
 *
 * Exit code 1 if something acknowledged is lost although durability is "replicated".
 */
import { parseArgs } from 'node:util'
import { runFailovers, type FailoverOptions, type Failovers } from './rounds.ts'

const USAGE =
  'usage: npm run failover -- [--rounds 5] [--durability primary|replicated] [--replicas 1] [--seed N] [--json]'

function parseOptions(): (FailoverOptions & { readonly json: boolean }) | undefined {
  try {
    const { values } = parseArgs({
      options: {
        rounds: { type: 'string', default: '5' },
        durability: { type: 'string', default: 'replicated' },
        replicas: { type: 'string', default: '1' },
        seed: { type: 'string', default: String(Date.now() % 1_000_000) },
        json: { type: 'boolean', default: false },
      },
    })
    const { durability, json } = values
    const [rounds, replicas, seed] = [values.rounds, values.replicas, values.seed].map(Number) as [
      number,
      number,
      number,
    ]
    const areNumbers = [rounds, replicas, seed].every((value) => Number.isSafeInteger(value) && value >= 0)
    if (!areNumbers || rounds < 1 || replicas < 1) return undefined
    if (durability !== 'primary' && durability !== 'replicated') return undefined
    return { rounds, durability, replicas, seed, json }
  } catch {
    return undefined
  }
}

function render(result: Failovers): string {
  return Object.entries(result)
    .map(([name, value]) => `${name.padEnd(18)}${value}`)
    .join('\n')
}

function say(line: string): void {
  process.stderr.write(`${line}\n`)
}

async function main(): Promise<number> {
  const options = parseOptions()
  if (options === undefined) {
    process.stderr.write(`${USAGE}\n`)
    return 2
  }
  const result = await runFailovers({ ...options, say })
  process.stdout.write(`${options.json ? JSON.stringify(result) : render(result)}\n`)
  const isBroken = result.lost + result.cancelledBack + result.completedAgain > 0
  return isBroken && options.durability === 'replicated' ? 1 : 0
}

process.exitCode = await main()
