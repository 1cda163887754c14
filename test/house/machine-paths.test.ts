/** No file of the project holds a path of the machine on which it was made: fixtures too, and what is packed in them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { ROOT, filesBelow } from './files.ts'

const HERE = 'test/house/machine-paths.test.ts'
/** Folders in which people and their programs work; not behind a dot or a name, where it is a folder of ours. */
const OF_A_MACHINE = /(?<![.\w])\/(?:work|home|root|Users|builds?|workspaces?)\/[\w.-]+/

function textOf(path: string): string {
  const bytes = readFileSync(join(ROOT, path))
  return (path.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('latin1')
}

it('no file holds a path of the machine that made it', () => {
  const found = filesBelow('').flatMap((path) => {
    const [name] = OF_A_MACHINE.exec(textOf(path)) ?? []
    return name === undefined || path === HERE ? [] : [`${path}: ${name}`]
  })
  expect(found).toEqual([])
})
