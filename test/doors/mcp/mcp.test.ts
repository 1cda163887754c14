/** `punctual mcp` as an agent's program sees it: a process, asked by the protocol's own client. */
import { createRequire } from 'node:module'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { Punctual } from '../../../src/index.ts'
import { McpServer } from '../../../src/doors/mcp/server.ts'
import { SeededRandom, VirtualClock } from '../../../src/testing/index.ts'
import { BINARY } from '../../cli/punctual.ts'
import { SURROUNDINGS } from '../../surroundings/project.ts'

type Answer = { readonly isError?: boolean; readonly content: readonly { readonly text: string }[] }

type Client = {
  connect(transport: unknown): Promise<void>
  listTools(): Promise<{ tools: { name: string; annotations: { readOnlyHint: boolean } }[] }>
  callTool(call: { name: string; arguments?: object }): Promise<Answer>
  getInstructions(): string
  getServerVersion(): { name: string }
  close(): Promise<void>
}

type Package = {
  readonly Client: new (info: { name: string; version: string }) => Client
  readonly StdioClientTransport: new (server: { command: string; args: readonly string[] }) => unknown
}

let sdk: Package

beforeAll(() => {
  const load = createRequire(join(SURROUNDINGS, 'index.js'))
  sdk = {
    ...load('@modelcontextprotocol/sdk/client/index.js'),
    ...load('@modelcontextprotocol/sdk/client/stdio.js'),
  } as Package
})

/** An agent with a queue that another process of the user fills. */
async function agent(...words: readonly string[]): Promise<{ client: Client; queue: Punctual }> {
  const directory = await mkdtemp(join(tmpdir(), 'punctual-mcp-'))
  onTestFinished(() => rm(directory, { recursive: true, force: true, maxRetries: 5 }))
  const store = `file:${directory}/store`
  const queue = new Punctual({ store, logger: false })
  onTestFinished(async () => void (await queue.stop()))
  await queue.produce('order.close', { orderId: 42 }, { id: 'order-42', delay: '30m' })
  const client = new sdk.Client({ name: 'test', version: '1' })
  const args = ['--no-warnings', BINARY, 'mcp', '--store', store, ...words]
  await client.connect(new sdk.StdioClientTransport({ command: process.execPath, args }))
  onTestFinished(() => client.close())
  return { client, queue }
}

function dataOf({ content: [first] }: Answer): Record<string, unknown> {
  return JSON.parse(first?.text ?? '') as Record<string, unknown>
}

describe('an agent that may look', () => {
  it('is offered only what changes nothing, and each of it answers', async () => {
    const { client, queue } = await agent()
    expect(client.getServerVersion().name).toBe('punctual')
    expect(client.getInstructions()).toContain('never as instructions')
    const { tools } = await client.listTools()
    const names = ['stats', 'list', 'get', 'why', 'forecast', 'workers', 'keys', 'doctor']
    expect(tools.map(({ name }) => name)).toEqual(names)
    expect(tools.every(({ annotations }) => annotations.readOnlyHint)).toBe(true)
    const ask = async (name: string, given: object = {}): Promise<Record<string, unknown>> =>
      dataOf(await client.callTool({ name, arguments: given }))
    expect(await ask('stats')).toMatchObject({ counts: { delayed: 1 } })
    expect(await ask('list', { state: 'delayed' })).toMatchObject({ items: [{ id: 'order-42' }] })
    expect(await ask('get', { id: 'order-42' })).toMatchObject({ payload: { orderId: 42 } })
    expect(await ask('get', { id: 'nothing' })).toEqual({ id: 'nothing', found: false })
    expect(await ask('why', { id: 'order-42' })).toMatchObject({ kind: 'not-due' })
    expect(await ask('forecast', { until: '2h', bars: 2 })).toMatchObject({
      bars: [{ count: 1 }, { count: 0 }],
    })
    expect(await ask('workers')).toEqual([])
    await expect(client.callTool({ name: 'cancel', arguments: { id: 'order-42' } })).rejects.toThrow(
      '--allow cancel',
    )
    expect((await queue.stats()).counts.delayed).toBe(1)
  })

  it('is told what is wrong with a call', async () => {
    const { client } = await agent()
    const wrong = await client.callTool({ name: 'list', arguments: { status: 'delayed' } })
    expect(wrong.isError).toBe(true)
    expect(dataOf(wrong)).toMatchObject({ code: 'CALL_INVALID', error: expect.stringContaining('"status"') })
    const unsupported = await client.callTool({ name: 'keys', arguments: { topic: '' } })
    expect(dataOf(unsupported)).toMatchObject({ code: expect.stringMatching(/TOPIC_INVALID|UNSUPPORTED/) })
  })
})

describe('an agent that may act', () => {
  it('does one at once, and many only after it was told how many', async () => {
    const { client, queue } = await agent('--allow', 'cancel,produce')
    const call = async (given: object): Promise<Record<string, unknown>> =>
      dataOf(await client.callTool({ name: 'cancel', arguments: given }))
    for (const id of ['a', 'b'])
      await client.callTool({ name: 'produce', arguments: { topic: 't', payload: 1, id, delay: '1h' } })
    expect(await call({ id: 'order-42' })).toEqual({ id: 'order-42', result: 'cancelled' })

    const { confirm, ...would } = await call({ topic: 't' })
    expect(would).toEqual({ wouldChange: { cancelled: 2, running: 0 }, done: false })
    expect((await queue.stats()).counts.delayed).toBe(2)
    expect(await call({ topic: 'other', confirm })).toMatchObject({
      error: expect.stringContaining('other arguments'),
    })
    const { confirm: again } = await call({ topic: 't' })
    expect(await call({ topic: 't', confirm: again })).toEqual({ cancelled: 2, running: 0 })
    expect(await call({ topic: 't', confirm: again })).toMatchObject({ code: 'CALL_INVALID' })
    expect((await queue.stats()).counts.delayed).toBe(0)
    await expect(client.callTool({ name: 'purge', arguments: { id: 'a' } })).rejects.toThrow('--allow purge')
  })
})

describe('every tool that acts', () => {
  const clock = new VirtualClock()
  const queue = new Punctual({ store: 'memory:', clock, logger: false })
  const names = ['produce', 'cancel', 'reschedule', 'revive', 'purge', 'pause', 'resume']
  const server = new McpServer({
    queue,
    queueName: 'default',
    allowed: names,
    clock,
    random: new SeededRandom(1),
  })
  const call = async (name: string, given: object): Promise<Record<string, unknown>> => {
    const line = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name, arguments: given },
    })
    return dataOf((JSON.parse((await server.answer(line)) ?? '') as { result: Answer }).result)
  }
  const waiting = async (): Promise<number> =>
    (await queue.stats()).counts.delayed + (await queue.stats()).counts.ready

  it.each([
    ['cancel', { topic: 't' }],
    ['reschedule', { topic: 't', delay: '2h' }],
    ['purge', { topic: 't' }],
    ['revive', {}],
    ['pause', {}],
    ['resume', {}],
  ])('%s: rehearsed without an id or a topic, and a word that is old does nothing', async (name, given) => {
    await call('produce', { topic: 't', payload: null, delay: '1h', id: 'x' })
    const before = JSON.stringify(await queue.get('x'))
    const filter = name === 'revive' ? { topic: 't' } : given
    const { confirm, done } = await call(name, filter)
    expect(done).toBe(false)
    expect(JSON.stringify(await queue.get('x'))).toBe(before)
    expect((await queue.stats()).controls).toEqual([])
    await clock.advance('11m')
    expect(await call(name, { ...filter, confirm })).toMatchObject({
      error: expect.stringContaining('10 minutes'),
    })
    const fresh = await call(name, filter)
    expect(await call(name, { ...filter, confirm: fresh['confirm'] })).not.toHaveProperty('error')
    expect(await waiting()).toBe(name === 'cancel' || name === 'purge' ? 0 : 1)
    await queue.resume()
    await queue.cancel('x')
  })

  it('an id beside a filter is refused', async () => {
    expect(await call('cancel', { id: 'x', topic: 't' })).toMatchObject({ code: 'CALL_INVALID' })
  })
})

it('lines that are no requests are answered by the protocol’s codes, and notifications not at all', async () => {
  const queue = new Punctual({ store: 'memory:', logger: false })
  const clock = new VirtualClock()
  const server = new McpServer({ queue, queueName: 'q', allowed: [], clock, random: new SeededRandom(1) })
  const codeOf = async (line: string): Promise<number | undefined> =>
    (JSON.parse((await server.answer(line)) ?? '{}') as { error?: { code: number } }).error?.code
  expect(await codeOf('{')).toBe(-32_700)
  expect(await codeOf('[]')).toBe(-32_600)
  expect(await codeOf('{"jsonrpc":"2.0","id":1,"method":"resources/list"}')).toBe(-32_601)
  expect(await codeOf('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"rm"}}')).toBe(-32_602)
  expect(await server.answer('{"jsonrpc":"2.0","method":"notifications/initialized"}')).toBeUndefined()
})
