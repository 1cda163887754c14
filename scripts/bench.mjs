// The one benchmark command: builds, installs the peers in their own package, and runs bench/run.mjs.
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT, buildIfStale, installDependencies, installRedis, run } from './setup.mjs'

installDependencies()
installRedis()
buildIfStale()
const bench = join(ROOT, 'bench')
const installed = join(bench, 'node_modules', '.package-lock.json')
if (
  !existsSync(installed) ||
  statSync(installed).mtimeMs < statSync(join(bench, 'package-lock.json')).mtimeMs
) {
  run('npm', ['install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error', '--ignore-scripts'], {
    cwd: bench,
  })
}
try {
  run(process.execPath, [join(bench, 'run.mjs'), ...process.argv.slice(2)])
} catch (error) {
  process.exit(error.status ?? 1) // It has said why.
}
