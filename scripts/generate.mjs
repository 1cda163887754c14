// Writes the sources that are made of other files and are not kept in git: Redis's scripts, PostgreSQL's tables and functions.
// Whatever reads the sources does this first. A file that is as it should be is left alone: it is not newer than the build.
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import * as lua from './generate/lua.mjs'
import * as sql from './generate/sql.mjs'

const MADE = { 'src/store/redis/scripts/generated.ts': lua, 'src/store/postgres/sql/generated.ts': sql }

export function generate() {
  for (const [file, by] of Object.entries(MADE)) {
    const path = fileURLToPath(new URL(`../${file}`, import.meta.url))
    const text = by.generate()
    if (textOf(path) !== text) replace(path, text)
  }
}

function textOf(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (error.code === 'ENOENT') return undefined
    throw error
  }
}

/** In one step: another command may do the same, or read it. */
function replace(path, text) {
  const fresh = `${path}.${process.pid}`
  writeFileSync(fresh, text)
  renameSync(fresh, path)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) generate()
