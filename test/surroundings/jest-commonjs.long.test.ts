/** The tests of an application that `nest new` made: ts-jest, CommonJS, no flag. On every Node that punctual runs on. */
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { installNode } from '../../scripts/node-versions.mjs'
import { here, Project, SURROUNDINGS } from './project.ts'

const OTHERS = ['22', '24', '26']
const SPEC = `import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Punctual, UsageError } from 'punctual'
import { serve } from 'punctual/server'
import { VirtualClock } from 'punctual/testing'

it('48 hours in a blink', async () => {
  const clock = new VirtualClock()
  const queue = new Punctual({ store: 'memory:', clock })
  const closed: unknown[] = []
  queue.handle('order.close', ({ payload }) => void closed.push(payload))
  await queue.start()
  await queue.produce('order.close', { orderId: 42 }, { delay: '48h' })
  await clock.advance('48h')
  expect(closed).toEqual([{ orderId: 42 }])
  await queue.stop()
})

it('a file store, its thread, and the errors of one package', async () => {
  const queue = new Punctual({ store: 'file:' + join(mkdtempSync(join(tmpdir(), 'jest-')), 'deep') })
  const id = await queue.produce('t', { n: 1 }, { delay: '1h' })
  expect((await queue.get(id))?.payload).toEqual({ n: 1 })
  await expect(queue.produce('', 1)).rejects.toBeInstanceOf(UsageError)
  await queue.stop()
})

it('clients are loaded without a flag', async () => {
  for (const store of ['postgres://127.0.0.1:1/x', 'mysql://127.0.0.1:1/x', 'redis://127.0.0.1:1']) {
    const queue = new Punctual({ store: store + '?callTimeout=300ms', logger: false })
    await expect(queue.produce('t')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await queue.stop()
  }
})

it('a server with its dashboard', async () => {
  const queue = new Punctual({ store: 'memory:', logger: false })
  const server = serve({ queues: [queue] })
  const { host, port } = await server.listen({ port: 0 })
  expect(await (await fetch(\`http://\${host}:\${port}/ui/\`)).text()).toContain('<script')
  await server.close()
  await queue.stop()
})
`
/** As in the starter of NestJS. */
const JEST = {
  moduleFileExtensions: ['js', 'json', 'ts'],
  rootDir: 'src',
  testRegex: '.*\\.spec\\.ts$',
  transform: { '^.+\\.(t|j)s$': 'ts-jest' },
  testEnvironment: 'node',
}
const COMPILERS = {
  'NestJS 11': {
    module: 'nodenext',
    moduleResolution: 'nodenext',
    resolvePackageJsonExports: true,
    isolatedModules: true,
  },
  'NestJS 10': { module: 'commonjs' },
}

async function project(compiler: object): Promise<Project> {
  const names = ['jest', 'ts-jest', 'typescript', '@types/jest']
  const clients = ['pg', 'mariadb', '@types/node']
  const made = await Project.make({
    ...Object.fromEntries(names.map((name) => [name, join(SURROUNDINGS, name)])),
    ...Object.fromEntries(clients.map((name) => [name, here(name)])),
  })
  await made.write('package.json', JSON.stringify({ jest: JEST }))
  const compilerOptions = {
    ...compiler,
    target: 'ES2023',
    esModuleInterop: true,
    emitDecoratorMetadata: true,
    experimentalDecorators: true,
    skipLibCheck: true,
    strictNullChecks: true,
    ignoreDeprecations: '5.0',
    types: ['node', 'jest'],
  }
  await made.write('tsconfig.json', JSON.stringify({ compilerOptions }))
  await made.write('src/orders.spec.ts', SPEC)
  return made
}

it.each([
  ...Object.entries(COMPILERS).map(([name, options]) => ({ node: 'this', name, options })),
  ...OTHERS.map((node) => ({ node, name: 'NestJS 11', options: COMPILERS['NestJS 11'] })),
])('$name on Node $node', async ({ node, options }) => {
  const made = await project(options)
  const program = node === 'this' ? process.execPath : join(installNode(node), 'node')
  const ended = await made.run(program, [
    join(SURROUNDINGS, 'jest/bin/jest.js'),
    '--no-cache',
    '--testTimeout',
    '120000',
  ])
  expect(ended.stderr).toMatch(/Tests: +4 passed, 4 total/)
  expect(ended.code).toBe(0)
})
