/** Sockets to a server: TCP, TLS or a path, and the certificates that TLS needs. */
import { readFile } from 'node:fs/promises'
import { createConnection, isIP, type NetConnectOpts, type Socket } from 'node:net'
import { connect as connectTls, type ConnectionOptions } from 'node:tls'
import { UsageError } from '../../../core/errors.ts'
import type { TlsFiles } from '../address/options.ts'
import type { Address } from '../address/url.ts'

export type SocketOptions =
  | { readonly kind: 'plain'; readonly options: NetConnectOpts }
  | { readonly kind: 'tls'; readonly options: ConnectionOptions }

export type Login = { readonly username?: string; readonly password?: string; readonly database: number }

/** Where a server is and how to log in there, asked anew for each connection: certificates and passwords change. */
export type Endpoint = {
  readonly socket: () => Promise<SocketOptions>
  readonly login: () => Promise<Login>
}

/** A connection that carries nothing is probed by the system, so that it is not forgotten on the way. */
const KEEP_ALIVE_AFTER_MS = 5000

export const SOCKET_DEFAULTS = {
  noDelay: true,
  keepAlive: true,
  keepAliveInitialDelay: KEEP_ALIVE_AFTER_MS,
} as const

export function endpointOf(address: Address): Endpoint {
  const { username, password, database } = address
  const login = {
    database,
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
  }
  return { socket: () => socketOptions(address), login: () => Promise.resolve(login) }
}

/** Calls `connected` when bytes can be written; what goes wrong is the socket's `error` event. */
export function openSocket(socket: SocketOptions, connected: () => void): Socket {
  return socket.kind === 'tls'
    ? connectTls(socket.options, connected)
    : createConnection(socket.options, connected)
}

async function socketOptions({ host, port, tls }: Address): Promise<SocketOptions> {
  const place = { ...SOCKET_DEFAULTS, host, port }
  if (tls === undefined) return { kind: 'plain', options: place }
  return { kind: 'tls', options: { ...place, ...nameFor(host), ...(await readFiles(tls)) } }
}

/** Without it the server is not told which of its names is meant, and may show another one's certificate. */
export function nameFor(host: string): { readonly servername?: string } {
  return isIP(host) === 0 ? { servername: host } : {}
}

async function readFiles({ ca, cert, key, servername }: TlsFiles): Promise<ConnectionOptions> {
  const [caPem, certPem, keyPem] = await Promise.all([ca, cert, key].map(readPem))
  return {
    ...(caPem === undefined ? {} : { ca: caPem }),
    ...(certPem === undefined ? {} : { cert: certPem }),
    ...(keyPem === undefined ? {} : { key: keyPem }),
    ...(servername === undefined ? {} : { servername }),
  }
}

async function readPem(path: string | undefined): Promise<Buffer | undefined> {
  if (path === undefined) return undefined
  try {
    return await readFile(path)
  } catch (error) {
    throw new UsageError('STORE_URL_INVALID', `the TLS file ${path} cannot be read.`, {
      value: path,
      cause: error,
    })
  }
}
