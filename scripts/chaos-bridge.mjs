// Kills of the bridge, of its broker, and of a cluster's leader: npm run chaos:bridge -- --bridge-kills 50
import { spawnSync } from 'node:child_process'
import { buildIfStale } from './setup.mjs'

buildIfStale()
const args = ['--import', 'tsx', 'chaos/bridge/main.ts', ...process.argv.slice(2)]
process.exit(spawnSync(process.execPath, args, { stdio: 'inherit' }).status ?? 1)
