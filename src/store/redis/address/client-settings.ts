/**
 * What a client of the package `redis` says about its server. Its connection stays its owner's: sharing it would mix our
 * calls with its owner's queue, prefix and timeouts, and its end would be ours.
 *
 * The package is not loaded for this: all that is needed stands in `client.options`, in every major version so far
 * (4 to 6). A setting that cannot be carried over is refused rather than ignored.
 */
import { UsageError, describe } from '../../../core/errors.ts'
import { nameFor, SOCKET_DEFAULTS, type Endpoint, type Login, type SocketOptions } from '../link/socket.ts'
import { isExistingClient, type ExistingClient } from './client.ts'
import { describeAddress } from './url.ts'

/** The part of the package's options that says where and as whom. */
type ClientOptions = {
  readonly socket?: ClientSocket
  readonly username?: string
  readonly password?: string
  readonly database?: number
  readonly credentialsProvider?: {
    readonly type?: string
    readonly credentials?: () => Promise<Omit<Login, 'database'>>
  }
}

type ClientSocket = {
  readonly tls?: boolean
  readonly host?: string
  readonly port?: number
  readonly path?: string
}

const PORT = 6379
/** Of Node's socket options; each would change who reads from the socket, and when it ends. */
const OURS = { timeout: undefined, onread: undefined, signal: undefined, readable: true, writable: true }
/** As ioredis has them. */
const OTHER_PACKAGE = ['host', 'port', 'db', 'sentinels'] as const

export type ClientEndpoint = Endpoint & { readonly server: string }

export function endpointLike(client: ExistingClient): ClientEndpoint {
  const options = optionsOf(client)
  return {
    server: serverOf(options.socket ?? {}),
    // Read for each connection: the client's owner may have changed them.
    socket: () => Promise.resolve(socketOf(options.socket ?? {})),
    login: () => loginOf(options),
  }
}

function optionsOf(client: ExistingClient): ClientOptions {
  if (!isExistingClient(client)) throw refused(`this is ${describe(client)}`, client)
  const { options = {} } = client
  if (typeof options !== 'object' || options === null) throw refused('its settings cannot be read', client)
  if (OTHER_PACKAGE.some((name) => name in options)) throw refused('this one is of another package', client)
  const { credentialsProvider: provider } = options as ClientOptions
  if (provider !== undefined && typeof provider.credentials !== 'function')
    throw refused(`its credentials come as a stream (${describe(provider.type)})`, client)
  return options
}

function socketOf(given: ClientSocket): SocketOptions {
  const { tls = false, host = 'localhost', port = PORT } = given
  if (given.path !== undefined && !tls)
    return { kind: 'plain', options: { ...given, ...OURS, path: given.path } }
  const place = { ...SOCKET_DEFAULTS, host, port }
  if (!tls) return { kind: 'plain', options: { ...place, ...given, ...OURS } }
  return { kind: 'tls', options: { ...place, ...nameFor(host), ...given, ...OURS } }
}

async function loginOf({
  credentialsProvider,
  username,
  password,
  database = 0,
}: ClientOptions): Promise<Login> {
  const login = (await credentialsProvider?.credentials?.()) ?? { username, password }
  return {
    database,
    ...(login.username === undefined ? {} : { username: login.username }),
    ...(login.password === undefined ? {} : { password: login.password }),
  }
}

function serverOf({ tls = false, host = 'localhost', port = PORT, path }: ClientSocket): string {
  if (path !== undefined) return `the Redis at ${path}`
  return describeAddress({ host, port, database: 0, ...(tls ? { tls: {} } : {}) })
}

function refused(what: string, value: unknown): UsageError {
  return new UsageError(
    'STORE_INVALID',
    `a Redis store is made from a redis:// URL or from a client of the package "redis" with its settings in "options"; ${what}. Give the URL.`,
    { value },
  )
}
