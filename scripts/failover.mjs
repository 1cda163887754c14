// Failovers of real servers, again and again: npm run failover -- --rounds 20 --durability replicated
import { spawnSync } from 'node:child_process'
import { generate } from './generate.mjs'

generate()
const args = ['--import', 'tsx', 'chaos/failover/main.ts', ...process.argv.slice(2)]
process.exit(spawnSync(process.execPath, args, { stdio: 'inherit' }).status ?? 1)
