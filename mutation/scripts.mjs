// Mutants of the Lua scripts: one changed line at a time, against tests on a real server.
import { execFileSync, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { printReport } from './report.mjs'
import { sampler } from './sample.mjs'

const SCRIPTS = 'src/store/redis/scripts'
const TESTS = ['conformance', 'scripts', 'model', 'wakes'].map((name) => `test/store/redis/${name}.test.ts`)
const WITHIN_MS = 180_000

/** Each is a mistake that someone could make: a name, what it changes, and what it makes of it. */
const MUTATORS = [
  ['comparison', / <= /g, ' < '],
  ['comparison', / >= /g, ' > '],
  ['comparison', / < /g, ' <= '],
  ['comparison', / > /g, ' >= '],
  ['comparison', / == /g, ' ~= '],
  ['comparison', / ~= /g, ' == '],
  ['off by one', / \+ 1\b/g, ' + 0'],
  ['off by one', / - 1\b/g, ' - 0'],
  ['sign', / \+ /g, ' - '],
  ['min and max', /math\.min/g, 'math.max'],
  ['min and max', /math\.max/g, 'math.min'],
  ['logic', / and /g, ' or '],
  ['logic', / or /g, ' and '],
  ['negation', /\bnot /g, ''],
  ['condition', /\bif (.+) then$/g, 'if false then'],
  ['condition', /\bif (.+) then$/g, 'if true then'],
  ['statement', /^(\s*)(call|send|add|redis\.call)\(.*\)$/g, '$1do end'],
]

export async function mutateLua({ tree, count, seed, only }) {
  const files = filesIn(tree).filter((file) => file.includes(only))
  const all = files.flatMap((file) => mutantsOf(tree, file))
  const chance = sampler(`${seed} lua`)
  const drawn = all
    .map((mutant) => ({ mutant, rank: chance() }))
    .toSorted((a, b) => a.rank - b.rank)
    .slice(0, count)
    .map(({ mutant }) => mutant)
  console.log(`${drawn.length} of ${all.length} mutants of the scripts`)
  const results = drawn.map((mutant, i) => {
    const isKilled = isNoticed(tree, mutant)
    console.log(
      `${i + 1}/${drawn.length} ${isKilled ? 'killed' : 'SURVIVED'} ${mutant.file}:${mutant.line} ${mutant.what}`,
    )
    return { ...mutant, isKilled }
  })
  printReport('lua', results)
}

function filesIn(tree) {
  return readdirSync(join(tree, SCRIPTS), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.lua'))
    .map((file) => `${SCRIPTS}/${file}`)
    .toSorted()
}

function mutantsOf(tree, file) {
  const lines = readFileSync(join(tree, file), 'utf8').split('\n')
  return lines.flatMap((text, i) => {
    if (/^\s*--/.test(text)) return []
    return MUTATORS.flatMap(([name, pattern, replacement]) =>
      [...text.matchAll(pattern)].map(({ 0: found, index }) => {
        const changed = found.replace(new RegExp(pattern.source), replacement)
        const mutated = text.slice(0, index) + changed + text.slice(index + found.length)
        return { file, line: i + 1, what: `${name}: ${mutated.trim().slice(0, 100)}`, mutated }
      }),
    )
  })
}

function isNoticed(tree, { file, line, mutated }) {
  const path = join(tree, file)
  const original = readFileSync(path, 'utf8')
  const lines = original.split('\n')
  lines[line - 1] = mutated
  writeFileSync(path, lines.join('\n'))
  try {
    execFileSync(process.execPath, ['scripts/embed-lua.mjs'], { cwd: tree, stdio: 'ignore' })
    const vitest = join(tree, 'node_modules/vitest/vitest.mjs')
    const { status } = spawnSync(
      process.execPath,
      [vitest, 'run', '--project', 'tests', '--bail', '1', ...TESTS],
      {
        cwd: tree,
        stdio: 'ignore',
        timeout: WITHIN_MS,
      },
    )
    return status !== 0
  } finally {
    writeFileSync(path, original)
  }
}
