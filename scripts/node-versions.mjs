// Other versions of Node, from npm's package "node", each in a scratch folder that stays.
import { existsSync, mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from './setup.mjs'

/** Answers the folder that holds this version's `node`. */
export function installNode(version) {
  const folder = join(tmpdir(), `punctual-node-${version}`)
  const bin = join(folder, 'node_modules', 'node', 'bin')
  if (!existsSync(join(bin, 'node'))) {
    mkdirSync(folder, { recursive: true })
    run('npm', [
      'install',
      '--prefix',
      folder,
      '--no-audit',
      '--no-fund',
      '--loglevel=error',
      `node@${version}`,
    ])
  }
  return bin
}
