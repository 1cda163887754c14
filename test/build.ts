/**
 * Before all tests: dist/ as users get it, for those tests that start the real binary or an example. Skipped when it
 * is newer than every source.
 */
import { execFileSync } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'

const ROOT = resolve(import.meta.dirname, '..')

export function setup(): void {
  if (builtAt() > lastChangedAt()) return
  execFileSync(process.execPath, [join(ROOT, 'scripts/build.mjs')], { cwd: ROOT, stdio: 'inherit' })
}

function builtAt(): number {
  return statSync(join(ROOT, 'dist/index.js'), { throwIfNoEntry: false })?.mtimeMs ?? 0
}

function lastChangedAt(): number {
  const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' }).map((file) =>
    join('src', file),
  )
  const all = [...sources, 'tsconfig.json', 'tsconfig.build.json', 'scripts/build.mjs']
  return Math.max(...all.map((file) => statSync(join(ROOT, file)).mtimeMs))
}
