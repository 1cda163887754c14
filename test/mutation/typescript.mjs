// Mutants of TypeScript, by Stryker: each is switched on in turn, and the tests that reach it must fail.
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { printReport } from './report.mjs'
import { sampler } from './sample.mjs'

/**
 * Which files are mutated, and which tests should notice. `judges` are slower: they are asked about what those let pass.
 */
export const ROOMS = {
  core: { source: 'src/core', tests: ['test/core', 'test/queue', 'test/runtime'], judges: [] },
  runtime: {
    source: 'src/runtime',
    // Tracing is tested on servers, which take too long to start for each mutant.
    without: 'telling/tracing.ts',
    tests: ['test/runtime', 'test/queue', 'test/metrics/metrics.test.ts'],
    judges: ['test/simulation/simulation.test.ts'],
  },
  memory: {
    source: 'src/store/memory',
    tests: ['test/store/memory.test.ts', 'test/store/memory', 'test/queue', 'test/runtime'],
    judges: ['test/simulation/model-store.test.ts', 'test/store/random-life.test.ts'],
  },
}

/** These start servers, wait in real time or move gigabytes, and say nothing about these rooms that others do not. */
const TOO_SLOW = [
  'test/runtime/stall.test.ts',
  'test/queue/flood.test.ts',
  'test/queue/tag-cost.test.ts',
  'test/queue/moving/engines.test.ts',
]

// Texts are compared nowhere, and what runs only while a module loads cannot be switched on later.
const EXCLUDED = ['StringLiteral']

export function mutateTypeScript({ tree, room, share, seed, only }) {
  const { source, tests, judges, without } = ROOMS[room]
  const files = filesIn(tree, source).filter(
    (file) => file.includes(only) && (without === undefined || !file.endsWith(without)),
  )
  const ranges = share >= 1 ? files : files.flatMap((file) => sampleLines(tree, file, share, seed))
  const mutants = strike({ tree, ranges, tests })
  const passed = mutants.filter(({ isKilled }) => !isKilled)
  if (passed.length > 0 && judges.length > 0) {
    console.log(`${room}: ${passed.length} of ${mutants.length} were let pass; now ${judges.join(', ')}`)
    const places = [...new Set(passed.map(({ range }) => range))]
    const judged = new Set(
      strike({ tree, ranges: places, tests: judges })
        // What only takes long there may do so on a busy machine; what never ends, the quick tests have noticed.
        .filter(({ isKilled, isTimeout }) => isKilled && !isTimeout)
        .map(({ key }) => key),
    )
    for (const mutant of passed) mutant.isKilled = judged.has(mutant.key)
  }
  printReport(room, mutants)
}

/** Every mutant in these files or ranges of lines, and whether a test noticed. */
function strike({ tree, ranges, tests }) {
  const reportFile = join(tree, 'mutation-report.json')
  writeFileSync(join(tree, 'vitest.mutation.config.ts'), vitestConfig(tests))
  writeFileSync(
    join(tree, 'stryker.config.json'),
    JSON.stringify({
      inPlace: true,
      mutate: ranges,
      plugins: [
        join(tree, 'test/mutation/node_modules/@stryker-mutator/vitest-runner/dist/src/index.js'),
        join(tree, 'test/mutation/survivors.mjs'),
      ],
      testRunner: 'vitest',
      vitest: { configFile: 'vitest.mutation.config.ts', related: false },
      mutator: { excludedMutations: EXCLUDED },
      ignoreStatic: true,
      coverageAnalysis: 'perTest',
      concurrency: 2,
      timeoutMS: 20_000,
      reporters: ['progress-append-only', 'survivors', 'json'],
      jsonReporter: { fileName: reportFile },
      allowConsoleColors: false,
      disableTypeChecks: false,
    }),
  )
  const stryker = join(tree, 'test/mutation/node_modules/@stryker-mutator/core/bin/stryker.js')
  const { status } = spawnSync(process.execPath, [stryker, 'run', 'stryker.config.json'], {
    cwd: tree,
    stdio: 'inherit',
  })
  if (status !== 0) throw new Error(`Stryker ended with ${status}`)
  return mutantsIn(JSON.parse(readFileSync(reportFile, 'utf8')))
}

/** Only the tests of this room, in one process per runner. Threads run what was built before, without mistakes. */
function vitestConfig(tests) {
  const include = JSON.stringify(tests.map((path) => (path.includes('.') ? path : `${path}/**/*.test.ts`)))
  return `import base from './vitest.config.ts'
import { defineConfig } from 'vitest/config'
export default defineConfig({
  plugins: base.plugins,
  test: { include: ${include}, exclude: ${JSON.stringify(TOO_SLOW)}, testTimeout: 60_000 },
})
`
}

function filesIn(tree, source) {
  return readdirSync(join(tree, source), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && statSync(join(tree, source, file)).isFile())
    .map((file) => `${source}/${file}`)
    .toSorted()
}

/** Stryker takes lines, not mutants: a share of the lines of each file, always the same for a seed. */
function sampleLines(tree, file, share, seed) {
  const chance = sampler(`${seed} ${file}`)
  const count = readFileSync(join(tree, file), 'utf8').split('\n').length
  return Array.from({ length: count }, (_, i) => i + 1)
    .filter(() => chance() < share)
    .map((line) => `${file}:${line}-${line}`)
}

function mutantsIn(report) {
  return Object.entries(report.files).flatMap(([file, { mutants }]) =>
    mutants
      .filter(({ status }) => ['Killed', 'Timeout', 'Survived', 'NoCoverage'].includes(status))
      .map(({ status, location: { start, end }, mutatorName, replacement }) => ({
        file,
        line: start.line,
        // Stryker counts columns from 1 in its report, and from 0 where it is told a range.
        range: `${file}:${start.line}:${start.column - 1}-${end.line}:${end.column - 1}`,
        key: `${file} ${start.line}:${start.column} ${end.line}:${end.column} ${mutatorName} ${replacement}`,
        what: `${mutatorName}: ${(replacement ?? '').replaceAll(/\s+/g, ' ').slice(0, 80)}`,
        isKilled: status === 'Killed' || status === 'Timeout',
        isTimeout: status === 'Timeout',
      })),
  )
}
