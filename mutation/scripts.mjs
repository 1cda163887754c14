// Mutants of what runs inside a server: Lua in Redis, SQL functions in PostgreSQL. One changed place at a time, against
// tests on a real server.
//
// Test runners are started once and kept: each is handed the scripts with the next mistake in them, in place of
// `generated.ts`. What the tests of the first list let pass is put before the slower ones of the second.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { printReport } from './report.mjs'
import { sampler } from './sample.mjs'
import { LUA_MISTAKES, SQL_MISTAKES } from './mistakes.mjs'

export const LANGUAGES = {
  lua: {
    folder: 'src/store/redis/scripts',
    embed: 'scripts/embed-lua.mjs',
    mistakes: LUA_MISTAKES,
    tests: [
      ['conformance', 'scripts', 'wakes', 'watch', 'watch-controls'].map((name) => redisTest(name)),
      ['test/store/random-life.test.ts', redisTest('corruption')],
    ],
    /** Of tests that run on every engine. */
    engine: 'redis',
  },
  sql: {
    folder: 'src/store/postgres/sql',
    embed: 'scripts/embed-sql.mjs',
    mistakes: SQL_MISTAKES,
    tests: [
      ['test/store/postgres/conformance.test.ts'],
      [
        ...['transactions', 'completing', 'upkeep', 'corruption', 'races'].map(
          (name) => `test/store/postgres/${name}.test.ts`,
        ),
        'test/store/random-life.test.ts',
      ],
    ],
    engine: 'postgres',
  },
}

const RUNNERS = 2
const WITHIN_MS = 300_000
/** Tests that run once for each engine, by their names. */
const OF_EVERY_ENGINE = ['random-life']

function redisTest(name) {
  return `test/store/redis/${name}.test.ts`
}

export async function mutateScripts({ tree, language, count, seed, only }) {
  const { folder, embed, mistakes, tests, engine } = LANGUAGES[language]
  const { generate } = await import(pathToFileURL(join(tree, embed)).href)
  const all = filesIn(tree, folder)
    .filter((file) => file.includes(only))
    .flatMap((file) => mutantsOf(tree, file, mistakes))
  const drawn = draw(all, count, sampler(`${seed} ${language}`))
  console.log(`${drawn.length} of ${all.length} mutants of ${language}`)
  const generated = join(tree, folder, 'generated.ts')
  const runners = await Promise.all(
    Array.from({ length: RUNNERS }, () => startRunner({ tree, generated, engine })),
  )
  await assertSound(runners[0], tests)
  const left = drawn.entries()
  const results = []
  const work = async (runner) => {
    for (const [, mutant] of left) {
      const isKilled = await runner.notices(withMistake(tree, mutant, generate), tests)
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

function filesIn(tree, folder) {
  return readdirSync(join(tree, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(lua|sql)$/.test(file) && !file.startsWith('tables/'))
    .map((file) => `${folder}/${file}`)
    .toSorted()
}

function mutantsOf(tree, file, mistakes) {
  const lines = readFileSync(join(tree, file), 'utf8').split('\n')
  return lines.flatMap((text, i) => {
    if (/^\s*(--|create )/.test(text)) return []
    return mistakes.flatMap(([name, pattern, replacement]) =>
      [...text.matchAll(pattern)].map(({ index }) => {
        const here = new RegExp(pattern.source, 'y')
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

/** All scripts, one of them with its mistake. Nothing else runs while the file is changed. */
function withMistake(tree, { file, line, mutated }, generate) {
  const path = join(tree, file)
  const original = readFileSync(path, 'utf8')
  try {
    writeFileSync(
      path,
      original
        .split('\n')
        .with(line - 1, mutated)
        .join('\n'),
    )
    return generate()
  } finally {
    writeFileSync(path, original)
  }
}

async function startRunner({ tree, generated, engine }) {
  const { createVitest } = await import(pathToFileURL(join(tree, 'node_modules/vitest/dist/node.js')).href)
  let source
  const planted = {
    name: 'planted-mistake',
    enforce: 'pre',
    load: (id) => (id === generated ? source : undefined),
  }
  const vitest = await createVitest(
    'test',
    {
      root: tree,
      config: false,
      watch: false,
      bail: 1,
      maxWorkers: 1,
      reporters: [{}],
      testTimeout: 60_000,
      hookTimeout: 60_000,
      include: ['test/**/*.test.ts'],
      globalSetup: ['test/shared-servers.ts'],
    },
    { plugins: [planted], logLevel: 'silent' },
  )
  await vitest.standalone()
  const project = vitest.getRootProject()
  const failsIn = async (files) => {
    for (const file of files) {
      const isShared = OF_EVERY_ENGINE.some((name) => file.includes(name))
      const path = join(tree, file)
      const specification = project.createSpecification(
        path,
        isShared ? { testNamePattern: new RegExp(engine) } : {},
      )
      const { testModules, unhandledErrors } = await within(
        vitest.runTestSpecifications([specification]),
        () => vitest.cancelCurrentRun('keyboard-input'),
      )
      // The runner names all files that it ever ran, with the results of mutants before this one.
      const result = testModules.find(({ moduleId }) => moduleId === path)?.state()
      if (unhandledErrors.length > 0 || result !== 'passed') return true
    }
    return false
  }
  return {
    /** Undefined for the scripts as they are. */
    async notices(scripts, lists) {
      source = scripts
      vitest.invalidateFile(generated)
      for (const files of lists) if (await failsIn(files)) return true
      return false
    },
    close: () => vitest.close(),
  }
}

/** A mistake that hangs is noticed as well. */
async function within(run, cancel) {
  const timer = setTimeout(() => void cancel(), WITHIN_MS)
  try {
    return await run
  } finally {
    clearTimeout(timer)
  }
}

/** Tests that fail without a mistake would notice every one. */
async function assertSound(runner, tests) {
  if (await runner.notices(undefined, tests)) throw new Error('the tests fail without a mistake')
}
