// Mutants of what a database runs: Lua in Redis, functions in PostgreSQL, statements for MySQL and SQLite. One changed place
// at a time, against tests on the real thing.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { printReport } from './report.mjs'
import { OF_EVERY_ENGINE, startRunner } from './runner.mjs'
import { sampler } from './sample.mjs'
import { LUA_MISTAKES, SQL_MISTAKES, STATEMENT_MISTAKES } from './mistakes.mjs'
import { statementsIn } from './statements.mjs'

/**
 * `embed` puts the scripts of a folder into one source; without it they are statements in sources of their own. `tests`: those
 * that notice most come first.
 */
export const LANGUAGES = {
  lua: {
    folder: 'src/store/redis/scripts',
    embed: 'scripts/generate/lua.mjs',
    files: /\.lua$/,
    mistakes: LUA_MISTAKES,
    engine: 'redis',
    tests: ['conformance', 'scripts', 'wakes', 'watch', 'watch-controls', ...OF_EVERY_ENGINE, 'corruption'],
  },
  postgres: {
    folder: 'src/store/postgres/sql',
    embed: 'scripts/generate/sql.mjs',
    files: /^(?!tables).*\.sql$/,
    mistakes: SQL_MISTAKES,
    engine: 'postgres',
    tests: [
      'conformance',
      'counts',
      'transactions',
      'completing',
      'upkeep',
      'corruption',
      'races',
      ...OF_EVERY_ENGINE,
    ],
  },
  mysql: {
    folder: 'src/store/mysql',
    files: /^(verbs\/.*|sql\/clock|controlling|joined|leasing|server|store|upkeep)\.ts$/,
    mistakes: STATEMENT_MISTAKES,
    engine: 'mysql',
    tests: [
      'conformance',
      'counts',
      'transactions',
      'completing',
      'corruption',
      'hot-paths',
      'wakeups',
      ...OF_EVERY_ENGINE,
    ],
  },
  sqlite: {
    folder: 'src/store/file',
    files: /^(verbs\/.*|database\/(ledger|message)|queues|store)\.ts$/,
    mistakes: SQL_MISTAKES,
    engine: 'file',
    tests: ['conformance', 'counting', 'look', 'leftovers', 'backup', ...OF_EVERY_ENGINE],
  },
}

const RUNNERS = 2

export async function mutateScripts({ tree, language, count, seed, only }) {
  const { folder, files, embed, mistakes, tests, engine } = LANGUAGES[language]
  const all = filesIn(tree, folder, files)
    .filter((file) => file.includes(only))
    .flatMap((file) => mutantsOf(tree, file, mistakes))
  const drawn = draw(all, count, sampler(`${seed} ${language}`))
  console.log(`${drawn.length} of ${all.length} mutants of ${language}`)
  const plant =
    embed === undefined
      ? (mutant) => ({ path: join(tree, mutant.file), source: textWith(tree, mutant) })
      : await embedder(tree, folder, embed)
  const runners = await Promise.all(
    Array.from({ length: RUNNERS }, (_, number) => startRunner({ tree, engine, number })),
  )
  await assertSound(runners[0], tests)
  const left = drawn.entries()
  const results = []
  const work = async (runner) => {
    for (const [, mutant] of left) {
      const isKilled = (await runner.noticedBy(plant(mutant), tests)) !== undefined
      results.push({ ...mutant, isKilled })
      const { file, line, what } = mutant
      console.log(
        `${results.length}/${drawn.length} ${isKilled ? 'killed' : 'SURVIVED'} ${file}:${line} ${what}`,
      )
    }
  }
  await Promise.all(runners.map(work))
  await Promise.all(runners.map((runner) => runner.close()))
  process.exitCode = 0 // The runners leave the mark of tests that failed, as they should.
  printReport(language, results)
}

function filesIn(tree, folder, names) {
  return readdirSync(join(tree, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => names.test(file))
    .map((file) => `${folder}/${file}`)
    .toSorted()
}

function mutantsOf(tree, file, mistakes) {
  const source = readFileSync(join(tree, file), 'utf8')
  const isStatement = file.endsWith('.ts') ? statementsIn(source) : () => true
  let end = -1
  return source.split('\n').flatMap((text, i) => {
    const start = end + 1
    end = start + text.length
    if (/^\s*(--|create )/.test(text)) return []
    return mistakes.flatMap(([name, pattern, replacement]) =>
      [...text.matchAll(pattern)]
        .filter(({ index }) => isStatement(start + index))
        .map(({ index }) => {
          const here = new RegExp(pattern, pattern.flags.replace('g', 'y'))
          here.lastIndex = index
          const mutated = text.replace(here, replacement)
          return { file, line: i + 1, what: `${name}: ${mutated.trim().slice(0, 110)}`, mutated }
        }),
    )
  })
}

function draw(all, count, chance) {
  return all
    .map((mutant) => ({ mutant, rank: chance() }))
    .toSorted((a, b) => a.rank - b.rank)
    .slice(0, count)
    .map(({ mutant }) => mutant)
}

function textWith(tree, { file, line, mutated }) {
  return readFileSync(join(tree, file), 'utf8')
    .split('\n')
    .with(line - 1, mutated)
    .join('\n')
}

/** All scripts in one source, `generated.ts`, one of them with its mistake. Nothing else runs while its file is changed. */
async function embedder(tree, folder, embed) {
  const { generate } = await import(pathToFileURL(join(tree, embed)).href)
  return (mutant) => {
    const path = join(tree, mutant.file)
    const original = readFileSync(path, 'utf8')
    try {
      writeFileSync(path, textWith(tree, mutant))
      return { path: join(tree, folder, 'generated.ts'), source: generate() }
    } finally {
      writeFileSync(path, original)
    }
  }
}

/** Tests that fail without a mistake would notice every one. */
async function assertSound(runner, tests) {
  const failed = await runner.noticedBy(undefined, tests)
  if (failed !== undefined) throw new Error(`${failed} fails without a mistake`)
}
