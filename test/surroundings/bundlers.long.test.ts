/** Programs that were bundled, run on their own. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { build, type BuildOptions } from 'esbuild'
import { describe, expect, it } from 'vitest'
import { here, Project, SURROUNDINGS, type Ended } from './project.ts'

const PROGRAM = `
import { Punctual } from 'punctual'

async function main() {
  const queue = new Punctual({ store: process.env.STORE, logger: false })
  await queue.produce('t', { bundled: true })
  const handled = new Promise((resolve) => queue.handle('t', ({ payload }) => resolve(payload)))
  await queue.start()
  console.log(JSON.stringify(await handled))
  await queue.stop()
}
main().catch((error) => console.log(error.code, error.message))
`
const HANDLED = '{"bundled":true}\n'

async function make(): Promise<Project> {
  const project = await Project.make({ pg: here('pg') })
  await project.write('app.mjs', PROGRAM)
  return project
}

async function bundle(project: Project, options: BuildOptions): Promise<void> {
  await build({
    absWorkingDir: project.path,
    entryPoints: ['app.mjs'],
    bundle: true,
    platform: 'node',
    format: 'esm',
    outExtension: { '.js': options.format === 'cjs' ? '.cjs' : '.mjs' },
    outdir: 'out',
    logLevel: 'silent',
    ...options,
  })
}

function run(project: Project, file: string, store: string): Promise<Ended> {
  return project.node(['--no-warnings', file], { STORE: store })
}

describe('esbuild', () => {
  it('leaving packages out of the bundle works on every engine', async () => {
    const project = await make()
    await bundle(project, { packages: 'external' })
    expect((await run(project, 'out/app.mjs', 'file:data')).stdout).toBe(HANDLED)
    expect((await run(project, 'out/app.mjs', 'memory:')).stdout).toBe(HANDLED)
  })

  it.each(['esm', 'cjs'] as const)(
    'all of it in one file works where no thread is needed (%s)',
    async (format) => {
      const project = await make()
      await bundle(project, { format, external: ['pg'] })
      const file = format === 'cjs' ? 'out/app.cjs' : 'out/app.mjs'
      expect((await run(project, file, 'memory:')).stdout).toBe(HANDLED)
      const { stdout } = await run(project, file, 'file:data')
      expect(stdout).toContain('STORE_CLIENT_MISSING the program was bundled without the file of the store')
    },
  )

  it('with the file of the thread as a second entry the file store works too, as docs/file.md says', async () => {
    const project = await make()
    await bundle(project, {
      entryPoints: {
        app: 'app.mjs',
        'file-thread': 'node_modules/punctual/dist/store/file/file-thread.js',
      },
      outExtension: { '.js': '.js' },
      external: ['pg', '@photostructure/sqlite'],
    })
    await writeFile(join(project.path, 'out/package.json'), '{ "type": "module" }')
    expect((await run(project, 'out/app.js', 'file:data')).stdout).toBe(HANDLED)
  })

  it('a client that cannot be bundled is named with the reason', async () => {
    const project = await make()
    await bundle(project, {})
    const { stdout } = await run(project, 'out/app.mjs', 'postgres://127.0.0.1:1/nowhere')
    expect(stdout).toMatch(/^STORE_CLIENT_MISSING .*Dynamic require/)
  })
})

describe('webpack', () => {
  const CONFIG = `
import webpack from '${join(SURROUNDINGS, 'webpack/lib/index.js')}'

const [how] = process.argv.slice(2)
const externals = how === 'external' ? [{ punctual: 'module punctual' }] : ['pg', 'amqplib', '@photostructure/sqlite']
webpack({
  mode: 'none',
  target: 'node20',
  entry: './app.mjs',
  context: import.meta.dirname,
  output: { path: import.meta.dirname + '/out', filename: 'app.mjs', module: true, chunkFormat: 'module' },
  experiments: { outputModule: true },
  externalsType: 'module',
  externals,
}).run((error, stats) => {
  if (error || stats.hasErrors()) {
    console.log(error ?? stats.toString({ all: false, errors: true }))
    process.exit(1)
  }
})
`

  it.each(['external', 'bundled'])('%s: the program runs, with the file store too', async (how) => {
    const project = await make()
    await project.write('bundle.mjs', CONFIG)
    expect(await project.node(['bundle.mjs', how])).toMatchObject({ code: 0, stdout: '' })
    expect((await run(project, 'out/app.mjs', 'memory:')).stdout).toBe(HANDLED)
    expect((await run(project, 'out/app.mjs', 'file:data')).stdout).toBe(HANDLED)
  })
})
