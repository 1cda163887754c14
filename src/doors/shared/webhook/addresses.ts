/**
 * Which addresses a webhook may reach. A URL that somebody chose must not make this machine talk to itself, to its
 * neighbours or to the metadata service of a cloud (server-side request forgery). So everything that is not public is
 * refused, unless the operator opens it.
 *
 * Traps:
 *   - a URL has many spellings of one address (2130706433, 0x7f.1, 127.1): only what the URL parser made of it is looked at
 *   - Node never asks `lookup` about a literal address: it is checked by itself
 *   - a name may have several addresses, and others a moment later: each is checked where the connection is made, and the
 *     peer once more when it is there
 *   - a pooled connection skips all that: the agent is ours alone
 */
import { lookup as resolveName, type LookupAddress } from 'node:dns'
import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { BlockList, isIP, type LookupFunction, type Socket } from 'node:net'
import { describe } from '../../../core/errors.ts'
import { CallError } from '../failure.ts'

const NOT_PUBLIC_V4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
]

/** Also those that carry an IPv4 address inside, which may be any of the above. */
const NOT_PUBLIC_V6 = [
  '::/96',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '100::/64',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
  '5f00::/16',
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
]

const NOT_PUBLIC = makeList([...NOT_PUBLIC_V4, ...NOT_PUBLIC_V6])

export class AddressRefused extends Error {
  override readonly name = 'AddressRefused'
}

export class AddressGuard {
  readonly #opened: BlockList

  /** `allowed`: networks that are open all the same: `10.0.0.0/8`, `127.0.0.1`. */
  constructor(allowed: readonly string[] = []) {
    this.#opened = makeList(allowed)
  }

  isAllowed(address: string): boolean {
    const [plain = ''] = address.split('%') // A zone: fe80::1%eth0.
    const family = isIP(plain) === 6 ? 'ipv6' : 'ipv4'
    if (isIP(plain) === 0) return false
    return this.#opened.check(plain, family) || !NOT_PUBLIC.check(plain, family)
  }

  /** Throws for a URL that is no web address, or names an address that is not allowed. */
  checkUrl(url: URL): void {
    if (url.protocol !== 'http:' && url.protocol !== 'https:')
      throw new AddressRefused(`${describe(url.protocol)} is not http or https`)
    const host = url.hostname.replace(/^\[|\]$/g, '')
    if (isIP(host) !== 0 && !this.isAllowed(host)) throw refused(host)
  }

  /** For this guard alone, so that no connection that another made is used. */
  makeAgent(protocol: string): HttpAgent | HttpsAgent {
    const agent =
      protocol === 'https:' ? new HttpsAgent({ keepAlive: true }) : new HttpAgent({ keepAlive: true })
    const connect = agent.createConnection.bind(agent)
    agent.createConnection = (options, callback) => {
      const socket = connect(options, callback) as Socket
      socket.once('connect', () => {
        const { remoteAddress = '' } = socket
        if (!this.isAllowed(remoteAddress)) socket.destroy(refused(remoteAddress))
      })
      return socket
    }
    return agent
  }

  /** Hands over only addresses that are allowed. */
  readonly lookup: LookupFunction = (name, options, callback) => {
    resolveName(name, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, '', 4)
      const allowed = addresses.filter(({ address }) => this.isAllowed(address))
      const [first] = allowed
      if (first === undefined) return callback(refused(`${name} (${shown(addresses)})`), '', 4)
      if (options.all === true) callback(null, allowed)
      else callback(null, first.address, first.family)
    })
  }
}

function refused(where: string): AddressRefused {
  return new AddressRefused(`${where} is not a public address; --allow-address opens one`)
}

function shown(addresses: readonly LookupAddress[]): string {
  return addresses.map(({ address }) => address).join(', ')
}

function makeList(networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', bits] = network.split('/')
    const version = isIP(address)
    const most = version === 6 ? 128 : 32
    const prefix = bits === undefined ? most : Number(bits)
    if (version === 0 || !Number.isInteger(prefix) || prefix < 0 || prefix > most)
      throw new CallError(`${describe(network)} is no network; write 10.0.0.0/8, 127.0.0.1 or fd00::/8.`)
    list.addSubnet(address, prefix, version === 6 ? 'ipv6' : 'ipv4')
  }
  return list
}
