/**
 * The recipes run: the blocks of a page are one program, and what it prints is what its comments say, `// text` behind a
 * `console.log` or on a line of its own below what causes it.
 */
import { execFile } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { transformSync } from 'esbuild'
import { expect, it, onTestFinished } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')
const RECIPES = join(ROOT, 'docs/recipes')
const pages = readdirSync(RECIPES).filter((file) => file !== 'README.md')

it.each(pages)('%s', async (page) => {
  const blocks = [...readFileSync(join(RECIPES, page), 'utf8').matchAll(/^```ts\n([\s\S]*?)^```$/gm)]
  const program = blocks.map(([, code]) => code).join('\n')
  const { stdout } = await promisify(execFile)(process.execPath, [fileOf(program)])
  expect(stdout.trimEnd().split('\n')).toEqual(saidIn(blocks.at(-1)?.[1] ?? ''))
})

/** In a folder of its own, where `punctual` is what was built. */
function fileOf(program: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'punctual-recipe-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(ROOT, join(folder, 'node_modules/punctual'), 'dir')
  const file = join(folder, 'recipe.mjs')
  writeFileSync(file, transformSync(program, { loader: 'ts', format: 'esm' }).code)
  return file
}

/** Of the last block, which runs the others. */
function saidIn(block: string): string[] {
  return block.split('\n').flatMap((line) => /(?:^|console\.log\(.*\) )\/\/ (.+)$/.exec(line)?.[1] ?? [])
}
