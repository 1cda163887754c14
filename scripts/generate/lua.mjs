/**
 * Redis's scripts as a source: each .lua file with the parts its `-- uses:` line names, comments left out, and its SHA-1.
 */
import { createHash } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'

const SCRIPTS = new URL('../../src/store/redis/scripts/', import.meta.url)

/** Where the scripts are, by who calls them. */
const ROOMS = ['people', 'runtime']

export function generate() {
  return [
    '// Made by `node scripts/generate.mjs` from the .lua files. Do not edit.',
    '',
    'export type Script = { readonly name: string; readonly sha: string; readonly source: string }',
    ...namesIn('parts').flatMap((part) => [
      '',
      `const ${part} = ${quoted(withoutComments(read(`parts/${part}.lua`)))}`,
    ]),
    ...ROOMS.flatMap((room) =>
      namesIn(room).flatMap((name) => [
        '',
        `export const ${constantName(name)}: Script = ${literal(room, name)}`,
      ]),
    ),
    '',
  ].join('\n')
}

function namesIn(directory) {
  return readdirSync(new URL(`${directory}/`, SCRIPTS))
    .filter((file) => file.endsWith('.lua'))
    .map((file) => file.slice(0, -'.lua'.length))
    .toSorted()
}

/** The parts are there once, and joined when the file is loaded. */
function literal(room, name) {
  const text = read(`${room}/${name}.lua`)
  const uses = /^-- uses: (.+)$/m.exec(text)
  if (uses === null) throw new Error(`${name}.lua has no "-- uses:" line`)
  const parts = uses[1].split(' ')
  const body = `${withoutComments(text)}\n`
  const source = [...parts.map((part) => withoutComments(read(`parts/${part}.lua`))), body].join('\n')
  const sha = createHash('sha1').update(source).digest('hex')
  const joined = `[${parts.join(', ')}, ${quoted(body)}].join('\\n')`
  return `{\n  name: '${name}',\n  sha: '${sha}',\n  source: ${joined},\n}`
}

function quoted(text) {
  return `\`${text.replaceAll('\\', '\\\\').replaceAll('`', '\\`').replaceAll('${', '\\${')}\``
}

function withoutComments(lua) {
  return lua
    .split('\n')
    .filter((line) => !/^\s*--/.test(line) && line.trim() !== '')
    .join('\n')
}

function read(file) {
  return readFileSync(new URL(file, SCRIPTS), 'utf8')
}

function constantName(name) {
  return `${name.toUpperCase()}_SCRIPT`
}
