// Mutants of TypeScript, by Stryker: each is switched on in turn, and the tests that reach it must fail.
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { printReport } from './report.mjs'
import { sampler } from './sample.mjs'

/** Which files are mutated, and which tests should notice. */
export const ROOMS = {
  core: { source: 'src/core', tests: ['test/core', 'test/queue', 'test/runtime'] },
  runtime: {
    source: 'src/runtime',
    // Tracing is tested on servers, which take too long to start for each mutant.
    without: 'telling/tracing.ts',
    tests: ['test/runtime', 'test/queue', 'test/metrics/metrics.test.ts'],
  },
  memory: { source: 'src/store/memory', tests: ['test/store/memory.test.ts', 'test/queue', 'test/runtime'] },
}

// Texts are compared nowhere, and what runs only while a module loads cannot be switched on later.
const EXCLUDED = ['StringLiteral']

export async function mutateTypeScript({ tree, room, share, seed, only }) {
  const { source, tests, without } = ROOMS[room]
  const files = filesIn(tree, source).filter(
    (file) => file.includes(only) && (without === undefined || !file.endsWith(without)),
  )
  const ranges = share >= 1 ? files : files.flatMap((file) => sampleLines(tree, file, share, seed))
  const reportFile = join(tree, 'mutation-report.json')
  writeFileSync(join(tree, 'vitest.mutation.config.ts'), vitestConfig(tests))
  writeFileSync(
    join(tree, 'stryker.config.json'),
    JSON.stringify({
      inPlace: true,
      mutate: ranges,
      plugins: [
        join(tree, 'mutation/node_modules/@stryker-mutator/vitest-runner/dist/src/index.js'),
        join(tree, 'mutation/survivors.mjs'),
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
  const stryker = join(tree, 'mutation/node_modules/@stryker-mutator/core/bin/stryker.js')
  const { status } = spawnSync(process.execPath, [stryker, 'run', 'stryker.config.json'], {
    cwd: tree,
    stdio: 'inherit',
  })
  if (status !== 0) throw new Error(`Stryker ended with ${status} in ${room}`)
  printReport(room, mutantsIn(JSON.parse(readFileSync(reportFile, 'utf8'))))
}

/** Only the tests of this room, in one process per runner. Threads run what was built before, without mistakes. */
function vitestConfig(tests) {
  const include = JSON.stringify(tests.map((path) => (path.includes('.') ? path : `${path}/**/*.test.ts`)))
  return `import base from './vitest.config.ts'
import { defineConfig } from 'vitest/config'
export default defineConfig({
  plugins: base.plugins,
  test: { include: ${include}, exclude: ['test/runtime/stall.test.ts'], testTimeout: 20_000 },
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
      .map(({ status, location, mutatorName, replacement }) => ({
        file,
        line: location.start.line,
        what: `${mutatorName}: ${(replacement ?? '').replaceAll(/\s+/g, ' ').slice(0, 80)}`,
        isKilled: status === 'Killed' || status === 'Timeout',
      })),
  )
}
