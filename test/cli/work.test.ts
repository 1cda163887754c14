/** `work`: modules, commands and addresses as handlers, and its end. */
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { symlink } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { FoundMessage } from '../../src/index.ts'
import { freePort } from '../free-port.ts'
import { makePlace, type Running } from './punctual.ts'

async function stop(worker: Running): Promise<string> {
  worker.signal('SIGTERM')
  const { code, stdout, stderr } = await worker.ended
  expect({ code, stderr }).toEqual({ code: 0, stderr })
  return stdout
}

/** Newer versions of Node read TypeScript by themselves; here they are told not to. */
function withoutReader(): NodeJS.ProcessEnv {
  const canRead = 'typescript' in process.features && Boolean(process.features.typescript)
  return canRead ? { NODE_OPTIONS: '--no-experimental-strip-types' } : {}
}

describe('a module of handlers', () => {
  it('--health answers probes while it works, and not after; a port that is taken is refused', async () => {
    const [shell, port] = await Promise.all([makePlace(), freePort()])
    await shell.write('handlers.mjs', 'export default { hello: () => undefined }')
    const worker = shell.start(['work', 'handlers.mjs', '--health', String(port)])
    await worker.says('working on hello')
    const ask = (path: string): Promise<number> =>
      fetch(`http://127.0.0.1:${port}${path}`).then(({ status }) => status)
    expect([await ask('/healthz'), await ask('/healthz?from=kubelet'), await ask('/')]).toEqual([
      200, 200, 404,
    ])
    const { code, stderr } = await shell.run(['work', 'handlers.mjs', '--health', String(port)])
    expect([code, stderr]).toEqual([1, expect.stringContaining(`port ${port} cannot be used (EADDRINUSE)`)])
    await stop(worker)
    await expect(ask('/healthz')).rejects.toThrow('fetch failed')
  })

  it('JavaScript, with options per topic', async () => {
    const shell = await makePlace()
    await shell.write(
      'handlers.mjs',
      `export const handlers = {
         hello: ({ payload }) => process.stdout.write('hello ' + payload.name + '\\n'),
         slow: { handler: async () => undefined, concurrency: 1 },
       }`,
    )
    await shell.run(['produce', 'hello', '{"name":"Ada"}'])
    const worker = shell.start(['work', 'handlers.mjs', '--concurrency', '5'])
    await worker.says('completed  hello')
    const stdout = await stop(worker)
    expect(stdout).toContain('working on hello, slow from file:.punctual, queue "default"')
    expect(stdout).toContain('hello Ada\n')
    expect(stdout).toMatch(/stopped {4}0 handlers finished, 0 given back unstarted, 0 abandoned/)
  })

  it('TypeScript, where Node or tsx can read it', async () => {
    const shell = await makePlace()
    await symlink(resolve(import.meta.dirname, '../../node_modules'), join(shell.directory, 'node_modules'))
    await shell.write(
      'handlers.ts',
      `type Greeting = { name: string }
       export default { hello: ({ payload }: { payload: Greeting }): void => { process.stdout.write('typed ' + payload.name + '\\n') } }`,
    )
    await shell.run(['produce', 'hello', '{"name":"Ada"}'])
    const worker = shell.start(['work', 'handlers.ts', '--json'])
    await worker.says('"event":"completed"')
    expect(await stop(worker)).toContain('typed Ada\n')
  })

  it('TypeScript without a reader: one line with the ways out', async () => {
    const shell = await makePlace()
    await shell.write('handlers.ts', 'export default {}')
    const { code, stderr } = await shell.run(['work', 'handlers.ts'], { env: withoutReader() })
    expect(code).toBe(1)
    expect(stderr).toMatch(/does not read TypeScript: install tsx .*, use Node 22\.18 or later, or build it/)
  })

  it('one that is none says what to write', async () => {
    const shell = await makePlace()
    await shell.write('empty.mjs', 'export const nothing = 1')
    await shell.write('broken.mjs', 'export default {')
    await shell.write('wrong.mjs', 'export default { t: 5 }')
    expect((await shell.run(['work', 'empty.mjs'])).stderr).toMatch(
      /exports no handlers; write: export default/,
    )
    expect((await shell.run(['work', 'broken.mjs'])).stderr).toMatch(/broken\.mjs could not be loaded: /)
    expect((await shell.run(['work', 'wrong.mjs'])).stderr).toMatch(/"t" in wrong\.mjs is neither a function/)
  })
})

describe('stopping', () => {
  it('P11: SIGTERM in mid-handler lets it finish, and gives back what has not started', async () => {
    const shell = await makePlace()
    await shell.write(
      'slow.mjs',
      `import { createInterface } from 'node:readline'
       const released = new Promise((resolve) => createInterface({ input: process.stdin }).once('line', resolve))
       export default { slow: { concurrency: 1, handler: async () => { console.log('begun'); await released; console.log('ended') } } }`,
    )
    for (const id of ['a', 'b']) await shell.run(['produce', 'slow', '1', '--id', id])
    const worker = shell.start(['work', 'slow.mjs'])
    await worker.says('begun')
    worker.signal('SIGTERM')
    await worker.says('stopping')
    worker.child.stdin?.write('go on\n')
    const { code, stdout } = await worker.ended
    expect(code).toBe(0)
    expect(stdout).toContain('ended\n')
    expect(stdout).toMatch(/completed {2}slow a/)
    expect(stdout).toMatch(/stopped {4}1 handler finished/)
    expect(await shell.json(['get', 'b'])).toMatchObject({ state: 'ready', attempt: 0 })
    expect(await shell.run(['get', 'a'])).toMatchObject({ code: 1 })
  })

  it('a second signal no longer waits', async () => {
    const shell = await makePlace()
    await shell.write(
      'stuck.mjs',
      `export default { t: () => { console.log('begun'); return new Promise(() => setInterval(() => {}, 1000)) } }`,
    )
    await shell.run(['produce', 't', '1', '--id', 'a'])
    const worker = shell.start(['work', 'stuck.mjs'])
    await worker.says('begun')
    worker.signal('SIGTERM')
    await worker.says('stopping')
    worker.signal('SIGINT')
    expect((await worker.ended).stdout).toContain('1 abandoned') // Although the module's interval goes on.
    expect(await shell.json(['get', 'a'])).toMatchObject({ state: 'ready', attempt: 0 })
  })

  it('nobody reads its lines any more: an orderly end', async () => {
    const shell = await makePlace()
    await shell.write('handlers.mjs', 'export default { t: () => undefined }')
    const worker = shell.start(['work', 'handlers.mjs'])
    await worker.says('working on')
    worker.child.stdout?.destroy()
    await shell.run(['produce', 't'])
    expect(await worker.ended).toMatchObject({ code: 0, stderr: '' })
  })
})

describe('--exec', () => {
  it('the payload on standard input, the rest in the environment; no shell is involved', async () => {
    const shell = await makePlace()
    await shell.write(
      'show.mjs',
      `let text = ''
       for await (const chunk of process.stdin) text += chunk
       console.error(JSON.stringify([text, process.env.PUNCTUAL_ID, process.env.PUNCTUAL_TOPIC, process.argv.slice(2)]))`,
    )
    await shell.run(['produce', 't', '"$(echo harm); `id`"', '--id', 'x; echo harm'])
    const worker = shell.start(['work', '--exec', `t="${process.execPath}" show.mjs 'two words' $HOME`])
    await worker.says('completed')
    await stop(worker)
    expect(JSON.parse(worker.stderr)).toEqual([
      '"$(echo harm); `id`"',
      'x; echo harm',
      't',
      ['two words', '$HOME'],
    ])
  })

  it('the exit code decides: 0 done, 65 dead, others retried with the last line of stderr', async () => {
    const shell = await makePlace()
    await shell.write(
      'exit.mjs',
      `for await (const chunk of process.stdin) { console.error('first\\nexits ' + chunk); process.exitCode = Number(chunk) }`,
    )
    for (const code of ['0', '1', '65']) await shell.run(['produce', 't', code, '--id', `exits-${code}`])
    const worker = shell.start(['work', '--exec', `t=${process.execPath} exit.mjs`])
    await worker.says('completed  t exits-0')
    await worker.says('retrying   t exits-1')
    await worker.says('dead       t exits-65')
    await stop(worker)
    expect(await shell.json(['get', 'exits-1'])).toMatchObject({
      state: 'delayed',
      error: expect.stringMatching(/^Error: exits 1\n/) as string,
      attempt: 1,
    })
    expect(await shell.json(['get', 'exits-65'])).toMatchObject({ state: 'dead', reason: 'exits 65' })
  })

  it('a timeout ends the command and all it started; one that does not exist is retried', async () => {
    const shell = await makePlace()
    await shell.run(['produce', 'long', '--id', 'long'])
    await shell.run(['produce', 'none', '--id', 'none'])
    const words = [
      '--exec',
      'long=sh -c "sleep 300 & wait"',
      '--exec',
      'none=does-not-exist',
      '--timeout',
      '500ms',
    ]
    const worker = shell.start(['work', ...words])
    await worker.says('retrying   long long')
    await worker.says('retrying   none none')
    await stop(worker)
    expect(((await shell.json(['get', 'none'])) as FoundMessage).error).toMatch(/ENOENT/)
  })
})

describe('--webhook', () => {
  it('a POST per message; the status decides', async () => {
    const seen: { headers: IncomingMessage['headers']; body: string }[] = []
    const server = createServer((request, response) => {
      let body = ''
      request.on('data', (chunk: Buffer) => (body += chunk.toString()))
      request.on('end', () => {
        seen.push({ headers: request.headers, body })
        const { status } = JSON.parse(body) as { status: number }
        response.writeHead(status, status === 503 ? { 'retry-after': '7200' } : {}).end('because')
      })
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    const shell = await makePlace()
    for (const status of [204, 410, 500, 503]) {
      await shell.run(['produce', 't', JSON.stringify({ status }), '--id', `s${status}`])
    }
    const worker = shell.start([
      'work',
      '--webhook',
      `t=http://127.0.0.1:${port}/hook`,
      '--allow-address',
      '127.0.0.1',
      '--header',
      'Authorization: Bearer key:1',
      '--header',
      'user-agent: shop',
    ])
    await worker.says('completed  t s204')
    await worker.says('dead       t s410')
    await worker.says('retrying   t s500')
    await worker.says('retrying   t s503')
    const stdout = await stop(worker)
    expect(stdout).toMatch(/t s503 .*again in 2h\n/)
    expect(stdout).toMatch(/t s500 .*500 Internal Server Error because; again in 1m\n/)
    expect(seen.find(({ headers }) => headers['punctual-id'] === 's204')).toMatchObject({
      headers: {
        'content-type': 'application/json',
        'punctual-topic': 't',
        'punctual-attempt': '1',
        authorization: 'Bearer key:1',
        'user-agent': 'shop',
      },
      body: '{"status":204}',
    })
  })
})
