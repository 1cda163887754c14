/** What a newcomer sees first: few folders at the root, and the map in CONTRIBUTING names each of them. */
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')
const FOLDERS_MAX = 10
const MADE_BY_COMMANDS = ['node_modules', 'dist', 'coverage']

const folders = readdirSync(ROOT, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
  .map(({ name }) => name)
  // A folder with nothing but installed packages is what an older version of the project left behind.
  .filter((name) => readdirSync(join(ROOT, name)).some((inside) => inside !== 'node_modules'))
  .filter((name) => !MADE_BY_COMMANDS.includes(name))

it('the root holds at most ten folders', () => {
  expect(folders.length, folders.join(', ')).toBeLessThanOrEqual(FOLDERS_MAX)
})

it('the map in CONTRIBUTING names every folder of the root, and no other', () => {
  const text = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8')
  const mapped = [...text.matchAll(/^\| `([\w-]+)\/` /gm)].map(([, name]) => name)
  expect(new Set(mapped)).toEqual(new Set(folders))
})
