// The one benchmark command: builds, installs the peers in their own package, and runs bench/run.mjs.
import { join } from 'node:path'
import { ROOT, buildIfStale, installDependencies, installPeers, installRedis, run } from './setup.mjs'

installDependencies()
installRedis()
installPeers()
buildIfStale()
try {
  run(process.execPath, [join(ROOT, 'bench', 'run.mjs'), ...process.argv.slice(2)])
} catch (error) {
  process.exit(error.status ?? 1) // It has said why.
}
