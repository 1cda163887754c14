/** The walk through the files leads past all of the runtime, and nowhere that does not exist. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')
const NAMED = [...readFileSync(join(ROOT, 'docs/internals.md'), 'utf8').matchAll(/src\/[\w/.-]+\.ts/g)].map(
  ([path]) => path,
)

it('every file that docs/internals.md names is there', () => {
  expect(NAMED.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
})

it('every file of the runtime has its place in the walk', () => {
  const runtime = readdirSync(join(ROOT, 'src/runtime'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => `src/runtime/${file}`)
  expect(runtime.filter((path) => !NAMED.includes(path))).toEqual([])
})
