// The one benchmark command: builds, installs the peers in their own package, and runs bench/run.mjs; or, with the
// word `growth` first, bench/growth.mjs.
import { join } from 'node:path'
import { ROOT, buildIfStale, installDependencies, installPeers, installPrograms, run } from './setup.mjs'

installDependencies()
installPrograms()
installPeers()
buildIfStale()
const words = process.argv.slice(2)
const isGrowth = words[0] === 'growth'
try {
  const program = join(ROOT, 'bench', isGrowth ? 'growth.mjs' : 'run.mjs')
  run(process.execPath, [program, ...words.slice(isGrowth ? 1 : 0)])
} catch (error) {
  process.exit(error.status ?? 1) // It has said why.
}
