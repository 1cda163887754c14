/** PostgreSQL's .sql files as a source: the tables by number, and every function. */
import { readFileSync, readdirSync } from 'node:fs'

const SQL = new URL('../../src/store/postgres/sql/', import.meta.url)

/** In the order in which they are created: what a function calls need not be there before it, but tables must. */
const ROOMS = ['parts', 'keys', 'runtime', 'people', 'upkeep', 'joined']

export function generate() {
  return [
    '// Made by `node scripts/generate.mjs` from the .sql files. Do not edit.',
    '',
    'export type SqlFile = { readonly name: string; readonly text: string }',
    '',
    `export const TABLES: readonly SqlFile[] = ${list(filesIn('tables'))}`,
    '',
    `export const FUNCTIONS: readonly SqlFile[] = ${list(ROOMS.flatMap(filesIn))}`,
    '',
  ].join('\n')
}

function filesIn(room) {
  return readdirSync(new URL(`${room}/`, SQL))
    .filter((file) => file.endsWith('.sql'))
    .toSorted()
    .map((file) => ({
      name: file.slice(0, -'.sql'.length),
      text: readFileSync(new URL(`${room}/${file}`, SQL), 'utf8'),
    }))
}

function list(files) {
  const entries = files.map(({ name, text }) => `  {\n    name: '${name}',\n    text: ${quoted(text)},\n  },`)
  return `[\n${entries.join('\n')}\n]`
}

function quoted(text) {
  return `\`${text.replaceAll('\\', '\\\\').replaceAll('`', '\\`').replaceAll('${', '\\${')}\``
}
