import { defineConfig } from 'vitest/config'

/** Storms want the machine for themselves, and would make everybody else late: they come when the others are done. */
const STORMS = ['test/chaos/storm.test.ts']

export default defineConfig({
  test: {
    globalSetup: ['test/build.ts'],
    // Tests wait for conditions, never for times; the cap is only there so that a hang is reported.
    // Most of a test's time is waiting for servers and processes: three at once keep two cores busy.
    maxWorkers: 3,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'tests',
          include: ['test/**/*.test.ts', 'examples/**/*.test.ts'],
          exclude: [...STORMS, '**/node_modules/**'],
          typecheck: {
            enabled: true,
            include: ['test/types/**/*.test-d.ts'],
            tsconfig: './tsconfig.json',
          },
          sequence: { groupOrder: 0 },
        },
      },
      { extends: true, test: { name: 'storms', include: STORMS, sequence: { groupOrder: 1 } } },
    ],
  },
})
