import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { makePlace } from './punctual.ts'

async function addressOf(running: { readonly stdout: string }): Promise<string> {
  const pattern = /http:\/\/[\d.]+:\d+/
  await expect.poll(() => running.stdout, { timeout: 20_000 }).toMatch(pattern)
  return pattern.exec(running.stdout)?.[0] ?? ''
}

it('serve answers on loopback, serves every queue of the store, and ends at a signal', async () => {
  const place = await makePlace()
  await place.run(['produce', 'mail.send', '--delay', '1h', '--queue', 'orders'])
  const running = place.start(['serve', '--port', '0'])
  const base = await addressOf(running)
  expect(await (await fetch(`${base}/v1/queues`)).json()).toMatchObject({
    queues: [{ name: 'default' }, { name: 'orders' }],
  })
  expect(await (await fetch(`${base}/v1/queues/orders/stats`)).json()).toMatchObject({
    counts: { delayed: 1 },
  })
  running.child.kill('SIGTERM')
  expect((await running.ended).code).toBe(0)
})

it('serve names the dashboard, and leads a browser there', async () => {
  const place = await makePlace()
  const running = place.start(['--queue', 'default', 'serve', '--port', '0'])
  const base = await addressOf(running)
  await expect.poll(() => running.stdout, { timeout: 20_000 }).toContain(`dashboard  ${base}/ui`)
  const browser = await fetch(base, { headers: { accept: 'text/html,*/*' } })
  expect(browser).toMatchObject({ status: 200, url: `${base}/ui` })
  const program = await fetch(base)
  expect(program.status).toBe(404)
  expect(await program.json()).toMatchObject({ detail: expect.stringContaining('/openapi.json') as string })
  const second = await place.run(['serve', '--port', new URL(base).port])
  expect(second).toMatchObject({ code: 1, stderr: expect.stringMatching(/port \d+ is taken .*use --port/) })
  running.child.kill('SIGTERM')
  expect((await running.ended).code).toBe(0)
})

it('token makes tokens that serve knows, and takes them back while it runs', async () => {
  const place = await makePlace()
  const { token } = (await place.json(['token', 'add', 'ops', '--scope', 'read'])) as { token: string }
  expect(token).toMatch(/^ptk_[\w-]{43}$/)
  const running = place.start([
    'serve',
    '--port',
    '0',
    '--tokens',
    'punctual-tokens.json',
    '--queue',
    'default',
  ])
  const base = await addressOf(running)
  const status = async (): Promise<number> =>
    (await fetch(`${base}/v1/queues/default/stats`, { headers: { authorization: `Bearer ${token}` } })).status
  expect(await status()).toBe(200)
  expect((await fetch(`${base}/v1/queues/default/stats`)).status).toBe(401)
  expect((await place.run(['token', 'list'])).stdout).toMatch(/ops +read/)
  expect((await place.run(['token', 'list'])).stdout).not.toContain(token)
  expect((await place.run(['token', 'add', 'ops'])).code).toBe(1)
  expect((await place.run(['token', 'remove', 'ops'])).code).toBe(0)
  await expect.poll(status, { timeout: 20_000 }).toBe(401)
  expect(running.stdout).not.toContain(token)
})

it('serve for others without tokens is refused, and nothing is opened', async () => {
  const place = await makePlace()
  const { code, stderr } = await place.run(['serve', '--host', '0.0.0.0'])
  expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('no tokens') })
  expect((await place.run(['token', 'add'])).code).toBe(2)
  expect((await place.run(['token', 'add', 'x', '--scope', 'everything'])).code).toBe(2)
})

it('serve with a key that is too short names the variable and a way to make one', async () => {
  const place = await makePlace()
  const { code, stderr } = await place.run(['serve', '--port', '0'], {
    env: { PUNCTUAL_SERVER_KEY: 'short' },
  })
  expect({ code, stderr }).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('$PUNCTUAL_SERVER_KEY has 5 characters; give at least 16'),
  })
})

it('serve --deliver posts what is due to its address, and only to public ones unless told', async () => {
  const place = await makePlace()
  const bodies: string[] = []
  const receiver = createServer((request, response) => {
    request.on('data', (chunk: Buffer) => bodies.push(chunk.toString()))
    request.on('end', () => response.end())
  })
  await new Promise<void>((ready) => receiver.listen(0, '127.0.0.1', ready))
  onTestFinished(() => void receiver.close())
  const pair = `t=http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`
  const refused = await place.run(['serve', '--port', '0', '--deliver', pair])
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('not a public address') })
  await place.run(['produce', 't', '{"n":1}'])
  const running = place.start(['serve', '--port', '0', '--deliver', pair, '--allow-address', '127.0.0.1'])
  await expect.poll(() => bodies, { timeout: 20_000 }).toEqual(['{"n":1}'])
  running.child.kill('SIGTERM')
  expect((await running.ended).code).toBe(0)
})
