/** A client that a common generator makes of docs/openapi.json: it compiles, strictly, and does what it is called for. */
import { join } from 'node:path'
import { build } from 'esbuild'
import { expect, it } from 'vitest'
import { here, Project, ROOT, SURROUNDINGS } from './project.ts'

const PROGRAM = `
import { Punctual } from 'punctual'
import { serve } from 'punctual/server'
import { createHash } from 'node:crypto'
import { client } from './client/client.gen'
import { cancelMessage, getMessage, getStats, leaseMessages, listMessages, produceMessage, putMessage, settleLeases } from './client/sdk.gen'
import type { Problem } from './client/types.gen'

const queue = new Punctual({ store: 'memory:', logger: false })
const token = 'ptk_of-this-program'
const tokens = [{ name: 'me', hash: createHash('sha256').update(token).digest('hex'), scopes: ['read', 'produce', 'operate', 'work'] as const }]
const server = serve({ queues: [queue], tokens, logger: false })
const { port } = await server.listen({ port: 0 })
client.setConfig({ baseUrl: 'http://127.0.0.1:' + port, auth: () => token })
const path = { queue: 'default' }

const put = await putMessage({ path: { ...path, id: 'a/b' }, headers: { 'If-None-Match': '*' }, body: { topic: 't', payload: { n: 1 }, delay: '1h' } })
console.log(put.response?.status, put.data?.outcome)
const again = await putMessage({ path: { ...path, id: 'a/b' }, headers: { 'If-None-Match': '*' }, body: { topic: 't' } })
const code: Problem['code'] | undefined = again.error?.code
console.log(again.response?.status, code)
console.log((await getMessage({ path: { ...path, id: 'a/b' } })).data?.payloadText)
console.log((await listMessages({ path, query: { state: 'delayed', limit: 10 } })).data?.items.map(({ id }) => id))
console.log((await cancelMessage({ path: { ...path, id: 'a/b' } })).data?.result)
await produceMessage({ path, headers: { 'Idempotency-Key': 'key' }, body: { topic: 'work' } })
const leased = await leaseMessages({ path, body: { topics: ['work'], wait: '5s' } })
const lease = leased.data?.leases[0]?.lease ?? ''
console.log((await settleLeases({ path, body: { settlements: [{ lease, outcome: 'completed' }] } })).data?.results)
console.log((await getStats({ path })).data?.counts.delayed)
await server.close()
await queue.stop()
`

it('is generated, compiles, and produces, looks, cancels, leases and settles', async () => {
  const project = await Project.make({
    '@types/node': here('@types/node'),
    'undici-types': here('undici-types'),
  })
  const made = await project.node([
    join(SURROUNDINGS, '@hey-api/openapi-ts/bin/run.js'),
    '--input',
    join(ROOT, 'docs/openapi.json'),
    '--output',
    'client',
    '--no-log-file',
  ])
  expect(made.code, made.stderr).toBe(0)
  await project.write('use.ts', PROGRAM)
  const compilerOptions = {
    target: 'es2022',
    lib: ['es2022', 'dom', 'dom.iterable', 'esnext.disposable'],
    module: 'esnext',
    moduleResolution: 'bundler',
    types: ['node'],
    strict: true,
    outDir: 'out',
  }
  await project.write('tsconfig.json', JSON.stringify({ compilerOptions, files: ['use.ts'] }))
  const compiled = await project.node([join(SURROUNDINGS, 'typescript/bin/tsc'), '-p', '.'])
  expect({ code: compiled.code, stdout: compiled.stdout }).toEqual({ code: 0, stdout: '' })
  await build({
    entryPoints: [join(project.path, 'out/use.js')],
    outfile: join(project.path, 'use.mjs'),
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
  })
  const ran = await project.node(['use.mjs'])
  expect(ran.stdout.trim().split('\n'), ran.stderr).toEqual([
    '201 stored',
    '412 PRECONDITION_FAILED',
    '{"n":1}',
    "[ 'a/b' ]",
    'cancelled',
    "[ 'settled' ]",
    '0',
  ])
})
