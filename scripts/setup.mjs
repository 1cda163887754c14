// What a fresh machine needs before anything runs. Each step does nothing when its work is done.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { generate } from './generate.mjs'

export const ROOT = fileURLToPath(new URL('..', import.meta.url))

const NODE_NEEDED = [20, 19]

export function run(command, args, options = {}) {
  // On Windows npm is a script, which only a shell can start.
  const shell = process.platform === 'win32' && command === 'npm'
  execFileSync(command, args, { cwd: ROOT, stdio: 'inherit', shell, ...options })
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

/** Installs exactly what the lock file says, when that is not what is installed. */
export function installDependencies() {
  checkNode()
  const lock = join(ROOT, 'package-lock.json')
  const installed = join(ROOT, 'node_modules', '.package-lock.json')
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs) return
  say('installing dependencies')
  run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'])
}

/** A package of its own inside the project: tools that users, and most test runs, never download. */
export function installPackage(folder, what) {
  const directory = join(ROOT, folder)
  const installed = join(directory, 'node_modules', '.package-lock.json')
  const lock = join(directory, 'package-lock.json')
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs) return
  say(`installing ${what}`)
  run(
    'npm',
    ['ci', '--no-audit', '--no-fund', '--loglevel=error', '--ignore-scripts', '--legacy-peer-deps'],
    {
      cwd: directory,
    },
  )
}

export function installPeers() {
  installPackage('bench', 'the peers of the benchmark')
}

export function installRecipes() {
  installPackage('test/packages/recipes', 'the clients of the recipes')
}

export function installMigrating() {
  installPackage('test/packages/migrating', 'the queues that are imported from')
}

export function installSite() {
  installPackage('site', 'what the docs are built with')
}

export function installSurroundings() {
  installPackage('test/packages/surroundings', 'what users run punctual with')
}

export function installRuntimes() {
  installPackage('test/packages/runtimes', 'Bun and Deno')
}

export function installHosts() {
  for (const name of ['nest-11', 'nest-12', 'web'])
    installPackage(`test/packages/${name}`, 'what hosts punctual')
}

/** Builds dist/ when a source is newer than it. Sources that are made of others are there afterwards in any case. */
export function buildIfStale() {
  generate()
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

/**
 * Programs that the tests start themselves; never a running service. `without`: what happens where one can be neither
 * found nor installed: the tests cannot run at all, or those that need it are skipped and counted. `unless`: a variable
 * that names a server to use instead.
 */
const PROGRAMS = [
  { program: 'redis-server', from: 'redis-server', without: 'stop' },
  { program: 'strace', from: 'strace', without: 'skip' },
  { program: 'chromium', from: 'chromium', without: 'skip' },
  { program: 'zsh', from: 'zsh', without: 'skip' },
  { program: 'fish', from: 'fish', without: 'skip' },
  { program: 'mariadbd', from: 'mariadb-server', without: 'skip', unless: 'PUNCTUAL_TEST_MYSQL' },
  { program: 'pgbouncer', from: 'pgbouncer', without: 'skip' },
  { program: 'rabbitmq-server', from: 'rabbitmq-server', without: 'skip', unless: 'PUNCTUAL_TEST_AMQP' },
]

export function installPrograms() {
  const missing = PROGRAMS.filter(
    ({ program, unless }) => !isThere(program) && process.env[unless ?? ''] === undefined,
  )
  if (missing.length > 0 && mayInstall()) installPackages([...new Set(missing.map(({ from }) => from))])
  for (const { program, from, without } of missing) {
    if (isThere(program)) continue
    console.error(
      `The program ${program} is not on the PATH and could not be installed from here; install it with your package ` +
        `manager (the package is called ${from}).` +
        (without === 'skip' ? ' The tests that need it are skipped.' : ''),
    )
    if (without === 'stop') process.exit(1)
  }
}

const AS_ROOT = process.getuid?.() === 0 ? [] : ['sudo', '-n']

function mayInstall() {
  return isThere('apt-get') && (AS_ROOT.length === 0 || spawnSync('sudo', ['-n', 'true']).status === 0)
}

function installPackages(names) {
  say(`installing ${names.join(', ')} from the system’s packages`)
  apt('update', '-qq')
  apt('install', '-y', '-qq', '--no-install-recommends', ...names)
}

/** RUNLEVEL=1: what is installed must not be started as a service. */
function apt(...args) {
  const [command, ...rest] = [
    ...AS_ROOT,
    'env',
    'DEBIAN_FRONTEND=noninteractive',
    'RUNLEVEL=1',
    'apt-get',
    ...args,
  ]
  spawnSync(command, rest, { stdio: 'inherit' })
}

function isThere(program) {
  return spawnSync('sh', ['-c', `command -v ${program}`]).status === 0
}
