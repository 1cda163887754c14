/** The types that are published, read by the compilers that users have: strict, and without `skipLibCheck`. */
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { here, Project, SURROUNDINGS } from './project.ts'

const PROGRAM = `
import { Punctual, RetryIn, type Handlers, type StopReport } from 'punctual'
import { serve } from 'punctual/server'
import { VirtualClock, conformance } from 'punctual/testing'

type Topics = { 'order.close': { orderId: number; at: Date }; tick: undefined }
// Exported, and so written into a declaration: every type in it must have a name that a user can import.
export const queue = new Punctual<Topics>({ store: 'memory:', clock: new VirtualClock() })
export async function use(): Promise<StopReport> {
  await queue.produce('order.close', { orderId: 1, at: new Date() }, { delay: '30m', tag: 'order-1' })
  await queue.produceMany([{ topic: 'tick' }])
  await queue.schedules.set('daily', { topic: 'tick', cron: '0 9 * * *', zone: 'Europe/Berlin' })
  // @ts-expect-error: this topic needs a payload
  await queue.produceMany([{ topic: 'order.close' }])
  queue.handle('order.close', ({ payload, signal }) => {
    const at: string = payload.at
    if (signal.aborted) throw new RetryIn('5m')
    return at
  })
  const server = serve({ queues: [queue] })
  await server.close()
  return queue.stop()
}
export const anyTopic = new Punctual()
export const found = async () => ({ page: await queue.list({ state: 'delayed' }), why: await queue.why('x') })
export const handlers: Handlers<Topics> = { tick: () => undefined }
export { conformance }
`

export const NEWEST = '7.0'

function compiler(version: string): string {
  return version === NEWEST ? here('typescript') : join(SURROUNDINGS, `typescript-${version}`)
}

/** Three kinds of project, with each of these compilers. */
export function testTypeScript(versions: readonly string[]): void {
  it.each(versions)('TypeScript %s', async (version) => {
    const project = await Project.make({
      '@types/node': here('@types/node'),
      'undici-types': here('undici-types'),
    })
    await project.write('use.ts', PROGRAM)
    // The old ones take their time: what a bundler resolves is asked of the newest.
    for (const resolution of version === NEWEST
      ? (['nodenext', 'bundler'] as const)
      : (['nodenext'] as const)) {
      const compilerOptions = {
        target: 'es2022',
        lib: ['es2022', 'esnext.disposable'],
        module: resolution === 'bundler' ? 'esnext' : 'nodenext',
        moduleResolution: resolution,
        types: ['node'],
        strict: true,
        exactOptionalPropertyTypes: true,
        skipLibCheck: false,
        declaration: true,
        noEmit: true,
      }
      await project.write('tsconfig.json', JSON.stringify({ compilerOptions, files: ['use.ts'] }))
      const { code, stdout } = await project.node([join(compiler(version), 'bin', 'tsc'), '-p', '.'])
      expect({ code, stdout }, resolution).toEqual({ code: 0, stdout: '' })
    }
  })

  it.each(versions)(
    'TypeScript %s, in a project that names neither the types of Node nor a library',
    async (version) => {
      const project = await Project.make({})
      await project.write(
        'use.ts',
        `import { Punctual } from 'punctual'
    const queue = new Punctual<{ tick: { n: number } }>()
    queue.handle('tick', ({ payload, signal }) => signal.aborted || payload.n > 1)
    export const id: Promise<string> = queue.produce('tick', { n: 1 }, { delay: '2s' })`,
      )
      const compilerOptions = { target: 'es2022', module: 'nodenext', types: [], strict: true, noEmit: true }
      await project.write('tsconfig.json', JSON.stringify({ compilerOptions, files: ['use.ts'] }))
      const { code, stdout } = await project.node([join(compiler(version), 'bin', 'tsc'), '-p', '.'])
      expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
    },
  )

  it.each(versions)(
    'TypeScript %s in a CommonJS project: `import` becomes `require`, and runs',
    async (version) => {
      const project = await Project.make({
        '@types/node': here('@types/node'),
        'undici-types': here('undici-types'),
      })
      await project.write('package.json', '{"type":"commonjs"}')
      await project.write(
        'use.ts',
        `import { Punctual } from 'punctual'
    import { serve } from 'punctual/server'
    import { VirtualClock } from 'punctual/testing'
    const queue = new Punctual<{ tick: { n: number } }>({ store: 'memory:', clock: new VirtualClock() })
    queue.handle('tick', ({ payload }) => payload.n)
    console.log(typeof serve, typeof queue.produce)`,
      )
      const compilerOptions = {
        target: 'es2022',
        module: 'commonjs',
        types: ['node'],
        strict: true,
        outDir: 'out',
      }
      await project.write('tsconfig.json', JSON.stringify({ compilerOptions, files: ['use.ts'] }))
      const { code, stdout } = await project.node([join(compiler(version), 'bin', 'tsc'), '-p', '.'])
      expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
      expect((await project.node(['out/use.js'])).stdout).toBe('function function\n')
    },
  )
}
