// The one benchmark command: builds, installs the peers in their own package, and runs bench/run.mjs; or, with the
// word `growth` or `postgres-goals` first, the program of that name.
import { join } from 'node:path'
import { ROOT, buildIfStale, installDependencies, installPeers, installPrograms, run } from './setup.mjs'

installDependencies()
installPrograms()
installPeers()
buildIfStale()
const words = process.argv.slice(2)
const named = ['growth', 'postgres-goals'].find((name) => name === words[0])
try {
  const program = join(ROOT, 'bench', `${named ?? 'run'}.mjs`)
  run(process.execPath, [program, ...words.slice(named === undefined ? 0 : 1)])
} catch (error) {
  process.exit(error.status ?? 1) // It has said why.
}
