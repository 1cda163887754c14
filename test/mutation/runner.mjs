// A test runner that is started once and kept: it is handed one file after another with a mistake in it, and tells which of
// the tests of an engine notices.
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'

/** These run once for each engine, by its name. */
export const OF_EVERY_ENGINE = ['../random-life', '../races']
const WITHIN_MS = 300_000

export async function startRunner({ tree, engine, number }) {
  const vite = await import(pathToFileURL(join(tree, 'node_modules/vite/dist/node/index.js')).href)
  const { createVitest } = await import(pathToFileURL(join(tree, 'node_modules/vitest/dist/node.js')).href)
  const planting = engine === 'file' ? inThread(tree, number, vite) : inSource()
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
      globalSetup: ['test/shared.ts'],
    },
    { plugins: [planting.plugin], logLevel: 'silent' },
  )
  await vitest.standalone()
  const project = vitest.getRootProject()
  const passes = async (name) => {
    const path = join(tree, 'test/store', engine, `${name}.test.ts`)
    const specification = project.createSpecification(
      path,
      OF_EVERY_ENGINE.includes(name) ? { testNamePattern: new RegExp(engine) } : {},
    )
    const { testModules, unhandledErrors } = await within(vitest.runTestSpecifications([specification]), () =>
      vitest.cancelCurrentRun('keyboard-input'),
    )
    // The runner names all files that it ever ran, with the results of mutants before this one.
    const result = testModules.find(({ moduleId }) => moduleId === path)?.state()
    return unhandledErrors.length === 0 && result === 'passed'
  }
  return {
    /** The test that notices it. Without a mistake: the sources as they are. */
    async noticedBy(mistake, names) {
      await planting.plant(mistake, (path) => vitest.invalidateFile(path))
      for (const name of names) if (!(await passes(name))) return name
      return undefined
    },
    close: () => vitest.close(),
  }
}

function inSource() {
  let planted
  return {
    plugin: {
      name: 'planted-mistake',
      enforce: 'pre',
      load: (id) => (id === planted?.path ? planted.source : undefined),
    },
    async plant(mistake, forget) {
      for (const one of [planted, mistake]) if (one !== undefined) forget(one.path)
      planted = mistake
    },
  }
}

/** The file engine works on a thread, which runs what was built: each runner has a build of its own. */
function inThread(tree, number, { transformWithOxc }) {
  const build = join(tree, `dist-${number}`)
  cpSync(join(tree, 'dist'), build, { recursive: true })
  const thread = pathToFileURL(join(build, 'store/file/file-thread.js')).href
  let planted
  return {
    plugin: {
      name: 'thread-of-this-runner',
      enforce: 'pre',
      transform: (code, id) =>
        id.endsWith('/store/file/spawn.ts')
          ? code.replace("new URL('./file-thread.js', import.meta.url)", `new URL('${thread}')`)
          : undefined,
    },
    async plant(mistake) {
      if (planted !== undefined) writeFileSync(planted.path, planted.original)
      planted = undefined
      if (mistake === undefined) return
      const path = join(build, relative(join(tree, 'src'), mistake.path).replace(/\.ts$/, '.js'))
      planted = { path, original: readFileSync(path, 'utf8') }
      const { code } = await transformWithOxc(mistake.source, mistake.path, { sourcemap: false })
      writeFileSync(path, code.replace(/(from "\.[^"]*)\.ts"/g, '$1.js"'))
    },
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
