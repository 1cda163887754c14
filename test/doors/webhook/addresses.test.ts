import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { AddressGuard } from '../../../src/doors/shared/webhook/addresses.ts'

const INSIDE = [
  '127.0.0.1', '127.1.2.3', '0.0.0.0', '0.1.2.3', '10.0.0.1', '10.255.255.255', '100.64.0.1', '100.127.255.255',
  '169.254.169.254', '172.16.0.1', '172.31.255.255', '192.0.0.1', '192.0.2.1', '192.88.99.1', '192.168.1.1', '198.18.0.1',
  '198.19.255.255', '198.51.100.1', '203.0.113.1', '224.0.0.1', '239.255.255.255', '240.0.0.1', '255.255.255.255',
  '[::]', '[::1]', '[::ffff:127.0.0.1]', '[::ffff:10.0.0.1]', '[::ffff:a9fe:a9fe]', '[::127.0.0.1]', '[64:ff9b::7f00:1]',
  '[64:ff9b:1::1]', '[100::1]', '[2001::1]', '[2001:db8::1]', '[2002:7f00:1::]', '[fc00::1]', '[fd12:3456::1]', '[fe80::1]',
  '[febf::1]', '[fec0::1]', '[ff02::1]',
  // Spellings that the URL parser understands.
  '2130706433', '0x7f.1', '0x7f000001', '127.1', '0177.0.0.1', '①②⑦.0.0.1', '127.0.0.1.', '017700000001', '0xa9fea9fe',
] // prettier-ignore

const OUTSIDE = [
  '1.1.1.1',
  '8.8.8.8',
  '172.15.0.1',
  '172.32.0.1',
  '100.63.0.1',
  '100.128.0.1',
  '11.0.0.1',
  '[2606:4700::1]',
  '[::ffff:8.8.8.8]',
  '[2a00::1]',
]

describe('which addresses a webhook may reach', () => {
  const guard = new AddressGuard()

  it.each(INSIDE)('not %s', (host) => {
    expect(() => guard.checkUrl(new URL(`http://${host}/x`))).toThrow(/not a public address/)
  })

  it.each(OUTSIDE)('but %s', (host) => {
    expect(() => guard.checkUrl(new URL(`https://${host}/x`))).not.toThrow()
  })

  it.each([
    'file:///etc/passwd',
    'ftp://1.1.1.1/',
    'gopher://1.1.1.1/',
    'data:text/plain,x',
    'unix:/run/x.sock',
  ])('no %s', (url) => {
    expect(() => guard.checkUrl(new URL(url))).toThrow(/not http or https/)
  })

  it('a network that was opened', () => {
    const open = new AddressGuard(['10.1.0.0/16', '127.0.0.1', 'fd00::/8'])
    expect(
      ['10.1.2.3', '10.2.0.1', '127.0.0.1', '127.0.0.2', 'fd00::1', 'fc00::1', 'no address'].map((one) =>
        open.isAllowed(one),
      ),
    ).toEqual([true, false, true, false, true, false, false])
    expect(() => new AddressGuard(['10.0.0.0/33'])).toThrow(/is no network/)
    expect(() => new AddressGuard(['localhost'])).toThrow(/is no network/)
  })

  it('a name that leads inside is refused where it is resolved', async () => {
    const asked = new Promise((resolve) =>
      guard.lookup('localhost', { all: true }, (error) => resolve(error)),
    )
    expect(await asked).toMatchObject({ name: 'AddressRefused' })
  })

  it('the peer is looked at once more: a resolver that lies changes nothing', async () => {
    const server = createServer((_, response) => void response.end())
    await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    const agent = guard.makeAgent('http:')
    // As if a resolver had answered a public address to the check, and this one to the connection.
    const socket = agent.createConnection({ host: '127.0.0.1', port }, () => undefined)
    const error = await new Promise((resolve) => socket?.once('error', resolve))
    expect(error).toMatchObject({ name: 'AddressRefused' })
  })
})
