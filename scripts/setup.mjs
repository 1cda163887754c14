// What a fresh machine needs before anything runs. Each step does nothing when its work is done.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('..', import.meta.url))

const NODE_NEEDED = [20, 19]

export function run(command, args, options = {}) {
  execFileSync(command, args, { cwd: ROOT, stdio: 'inherit', ...options })
}

function say(what) {
  console.log(`\u2022 ${what}`)
}

export function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major > NODE_NEEDED[0] || (major === NODE_NEEDED[0] && minor >= NODE_NEEDED[1])) return
  console.error(`punctual needs Node ${NODE_NEEDED.join('.')} or newer; this is ${process.versions.node}.`)
  process.exit(1)
}

/**
 * Installs what the lock file says, when that is not what is installed. Not `npm ci`: it refuses a lock file written where
 * the registry did not offer the binaries of every other platform.
 */
export function installDependencies() {
  checkNode()
  const lock = join(ROOT, 'package-lock.json')
  const installed = join(ROOT, 'node_modules', '.package-lock.json')
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs) return
  say('installing dependencies')
  run('npm', ['install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error'])
}

/** The peers that the benchmark runs beside us: a package of its own, so that users never download them. */
export function installPeers() {
  const bench = join(ROOT, 'bench')
  const installed = join(bench, 'node_modules', '.package-lock.json')
  const lock = join(bench, 'package-lock.json')
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs) return
  say('installing the peers of the benchmark')
  const quietly = ['--no-save', '--no-audit', '--no-fund', '--loglevel=error', '--ignore-scripts']
  run('npm', ['install', ...quietly], { cwd: bench })
}

/** Builds dist/ when a source is newer than it. */
export function buildIfStale() {
  const built = join(ROOT, 'dist', 'index.js')
  if (existsSync(built) && statSync(built).mtimeMs > newest(join(ROOT, 'src'))) return
  say('building')
  run(process.execPath, [join(ROOT, 'scripts', 'build.mjs')])
}

function newest(directory) {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  )
  return Math.max(
    ...entries.map((entry) => statSync(join(entry.parentPath ?? entry.path, entry.name)).mtimeMs),
  )
}

/** The tests start their own servers; here only the programs are needed, never a running service. */
export function installRedis() {
  if (isThere('redis-server') || installPackage('redis-server')) return
  console.error(
    'The tests need the program redis-server (6.2 or newer) on the PATH, and it could not be installed from here.\n' +
      'Install it with your package manager, for example: apt-get install redis-server, or: brew install redis.',
  )
  process.exit(1)
}

/** Without it the tests of the bridge are skipped, and say so; everything else is tested. */
export function installRabbitmq() {
  if (process.env.PUNCTUAL_TEST_AMQP !== undefined || isThere('rabbitmq-server')) return
  try {
    if (installPackage('rabbitmq-server')) return
  } catch {
    // Told below: a machine without it can still run the rest.
  }
  say('no rabbitmq-server on this machine, and none could be installed: the tests of the bridge are skipped')
}

/** From the system's packages, where we may. RUNLEVEL=1 keeps the package from starting its service. */
function installPackage(name) {
  const asRoot = process.getuid?.() === 0 ? [] : ['sudo', '-n']
  const mayInstall =
    isThere('apt-get') && (asRoot.length === 0 || spawnSync('sudo', ['-n', 'true']).status === 0)
  if (!mayInstall) return false
  say(`installing ${name} from the system’s packages`)
  const apt = (...args) =>
    run(...split([...asRoot, 'env', 'DEBIAN_FRONTEND=noninteractive', 'RUNLEVEL=1', 'apt-get', ...args]))
  apt('update', '-qq')
  apt('install', '-y', '-qq', '--no-install-recommends', name)
  return isThere(name)
}

function split([command, ...args]) {
  return [command, args]
}

function isThere(program) {
  return spawnSync('sh', ['-c', `command -v ${program}`]).status === 0
}
