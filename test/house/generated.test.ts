/** Sources that are made of other files: git does not keep them, and whatever reads the sources makes them first. */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')
const FILES = ['src/store/redis/scripts/generated.ts', 'src/store/postgres/sql/generated.ts']
const LONG_AGO = new Date(0)

/** The scripts and what they read, as a fresh clone has them. */
function freshClone(): string {
  const clone = mkdtempSync(join(tmpdir(), 'punctual-clone-'))
  onTestFinished(() => rmSync(clone, { recursive: true }))
  for (const folder of ['scripts', 'src/store/redis/scripts', 'src/store/postgres/sql'])
    cpSync(join(ROOT, folder), join(clone, folder), {
      recursive: true,
      filter: (path) => !path.includes('generated.ts'),
    })
  return clone
}

function generateIn(tree: string): void {
  execFileSync(process.execPath, [join(tree, 'scripts/generate.mjs')])
}

it('a fresh clone gets them; what is stale is made anew; what is as it should be is left alone', () => {
  const clone = freshClone()
  const [lua = '', sql = ''] = FILES.map((file) => join(clone, file))
  generateIn(clone)
  for (const file of FILES)
    expect(readFileSync(join(clone, file), 'utf8')).toBe(readFileSync(join(ROOT, file), 'utf8'))
  for (const path of [lua, sql]) utimesSync(path, LONG_AGO, LONG_AGO)
  writeFileSync(join(clone, 'src/store/redis/scripts/people/extra.lua'), '-- uses: base\nreturn 1\n')
  generateIn(clone)
  expect(readFileSync(lua, 'utf8')).toContain('export const EXTRA_SCRIPT')
  expect(statSync(sql).mtimeMs).toBe(0)
})

it('git does not keep them, and they are not formatted', () => {
  for (const list of ['.gitignore', '.prettierignore'])
    expect(readFileSync(join(ROOT, list), 'utf8')).toMatch(/^src\/\*\*\/generated\.ts/m)
})

it('every command that reads the sources makes them', () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }
  const readers = Object.values(scripts).filter((command) => /\b(?:tsc|oxlint)\b/.test(command))
  expect(readers.length).toBeGreaterThan(0)
  for (const command of readers) expect(command).toMatch(/^node scripts\/generate\.mjs && /)
})
