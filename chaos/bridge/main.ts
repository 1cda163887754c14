/**
 * The command:
 *
 *   npm run chaos:bridge -- [--bridge-kills 50] [--broker-kills 20] [--leader-kills 3] [--rate 150] [--seed 1]
 *
 * Exit code 1 if a confirmed message is lost, one is early, or one is repeated that was not in flight at a kill.
 */
import { parseArgs } from 'node:util'
import { isBroken, type BridgeVerdict } from './audit.ts'
import { killBridges, killBrokers, killLeaders, type StageOptions } from './stages.ts'

const { values } = parseArgs({
  options: {
    'bridge-kills': { type: 'string', default: '50' },
    'broker-kills': { type: 'string', default: '20' },
    'leader-kills': { type: 'string', default: '3' },
    rate: { type: 'string', default: '150' },
    seed: { type: 'string', default: '1' },
  },
})

const STAGES = [
  ['bridge killed with SIGKILL', 'bridge-kills', killBridges],
  ['broker killed with SIGKILL', 'broker-kills', killBrokers],
  ['three nodes, leader killed with SIGKILL', 'leader-kills', killLeaders],
] as const satisfies readonly [
  string,
  keyof typeof values,
  (options: StageOptions) => Promise<BridgeVerdict>,
][]

let broken = 0
for (const [title, option, run] of STAGES) {
  const kills = Number(values[option])
  if (kills === 0) continue
  const verdict = await run({
    kills,
    seed: Number(values.seed),
    ratePerS: Number(values.rate),
    say: (line) => process.stderr.write(`${line}\n`),
  })
  process.stdout.write(`${title}\n`)
  for (const [name, value] of Object.entries(verdict)) process.stdout.write(`  ${name.padEnd(26)}${value}\n`)
  if (isBroken(verdict)) broken += 1
}
process.stdout.write(broken === 0 ? 'every promise was kept\n' : `${broken} stages broke a promise\n`)
process.exitCode = broken === 0 ? 0 : 1
