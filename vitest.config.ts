import { pathToFileURL } from 'node:url'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { LongestFirst } from './test/longest-first.ts'

/** What `npm test` leaves to `npm run test:all`: it is in the name of the file. */
const LONG = '**/*.long.test.ts'
/** Storms want the machine for themselves, and would make all others late: they come when those are done. */
const STORMS = ['test/chaos/storm.long.test.ts']

const THREAD = "new URL('./file-thread.js', import.meta.url)"
const BUILT_THREAD = pathToFileURL(join(import.meta.dirname, 'dist/store/file/file-thread.js')).href

/** The test runner translates what it imports itself; a thread runs what was built before the tests began. */
const builtThreads = {
  name: 'built-threads',
  enforce: 'pre' as const,
  transform: (code: string, id: string) =>
    id.endsWith('/store/file/spawn.ts') ? code.replaceAll(THREAD, `new URL('${BUILT_THREAD}')`) : undefined,
}

export default defineConfig({
  plugins: [builtThreads],
  test: {
    globalSetup: ['test/build.ts', 'test/shared.ts'],
    setupFiles: ['test/setup.ts'],
    // Tests wait for conditions, never for times; the cap is only there so that a hang is reported.
    // Most of a test's time is waiting for servers, processes and moments: cases that do, and say so, run side by side.
    maxWorkers: 3,
    maxConcurrency: 8,
    testTimeout: 180_000,
    hookTimeout: 180_000,
    sequence: { sequencer: LongestFirst },
    expect: { poll: { timeout: 120_000 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'tests',
          include: ['test/**/*.test.ts', 'examples/**/*.test.ts'],
          exclude: [LONG, '**/node_modules/**'],
          typecheck: {
            enabled: true,
            include: ['test/types/**/*.test-d.ts'],
            tsconfig: './tsconfig.json',
          },
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'alone',
          include: ['test/runtime/*.test.ts'],
          exclude: ['test/runtime/stall.test.ts', 'test/runtime/schedule-model.test.ts'],
          env: { PUNCTUAL_TEST_WORLD: 'alone' },
          // Nothing but memory and virtual time: a process for each file would cost more than its tests.
          isolate: false,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'long',
          include: [`test/${LONG}`],
          exclude: [...STORMS, '**/node_modules/**'],
          sequence: { groupOrder: 0 },
        },
      },
      { extends: true, test: { name: 'storms', include: STORMS, sequence: { groupOrder: 1 } } },
    ],
  },
})
