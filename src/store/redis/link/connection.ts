/**
 * One connection to Redis, from handshake to loss: the only file that knows the client library.
 *
 * The library is asked to do little. It neither reconnects nor queues while it is offline: `link` decides both, in
 * the open. A connection that is lost stays lost, and a command whose reply did not come is never sent again.
 */
import { readFile } from 'node:fs/promises'
import type * as ClientLibrary from 'redis'
import type { RedisClientOptions, RedisClientType } from 'redis'
import { UsageError } from '../../../core/errors.ts'
import type { TlsFiles } from '../address/options.ts'
import type { ExistingClient } from '../address/client.ts'
import type { Address } from '../address/url.ts'

export interface Connection {
  /** Connects and authenticates. */
  open(): Promise<void>
  send(command: readonly string[]): Promise<unknown>
  subscribe(channel: string, heard: (message: string) => void): Promise<void>
  /** Ends it at once, whatever its state; what is under way rejects. */
  destroy(): void
}

/** `lost` is called at most once, when an opened connection broke by itself. */
export type Connect = (name: string, lost: (error: unknown) => void) => Promise<Connection>

type Overrides = Pick<
  RedisClientOptions,
  | 'name'
  | 'RESP'
  | 'disableOfflineQueue'
  | 'maintNotifications'
  | 'commandOptions'
  | 'keyPrefix'
  | 'pingInterval'
>

function overrides(name: string): Overrides {
  return {
    name,
    RESP: 3,
    disableOfflineQueue: true,
    maintNotifications: 'disabled',
    // 0: without the library's own timer for each command; `link` has one already.
    commandOptions: { timeout: 0 },
  }
}

export function connectTo(address: Address, connectTimeoutMs: number): Connect {
  return async (name, lost) => {
    const { createClient } = await importClient()
    const { username, password, database } = address
    const end = new AbortController()
    const socket = {
      ...(await tlsOptions(address.tls)),
      signal: end.signal,
      host: address.host,
      port: address.port,
      connectTimeout: connectTimeoutMs,
      reconnectStrategy: false as const,
    }
    const options = {
      ...overrides(name),
      database,
      ...(username === undefined ? {} : { username }),
      ...(password === undefined ? {} : { password }),
      socket,
    }
    return wrap(createClient(options as RedisClientOptions), end, lost)
  }
}

export function connectLike(client: ExistingClient, connectTimeoutMs: number): Connect {
  return (name, lost) => {
    const { socket } = (client.options ?? {}) as RedisClientOptions
    const end = new AbortController()
    const copy = client.duplicate({
      ...overrides(name),
      keyPrefix: undefined,
      pingInterval: undefined,
      socket: { ...socket, signal: end.signal, connectTimeout: connectTimeoutMs, reconnectStrategy: false },
    })
    return Promise.resolve(wrap(copy as RedisClientType, end, lost))
  }
}

async function importClient(): Promise<typeof ClientLibrary> {
  try {
    return await import('redis')
  } catch (error) {
    throw new UsageError(
      'STORE_CLIENT_MISSING',
      'a redis:// store needs the package "redis", which could not be loaded: npm install redis',
      { cause: error },
    )
  }
}

async function tlsOptions(files: TlsFiles | undefined): Promise<object> {
  if (files === undefined) return {}
  const [ca, cert, key] = await Promise.all([files.ca, files.cert, files.key].map(readPem))
  return {
    tls: true,
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(files.servername === undefined ? {} : { servername: files.servername }),
  }
}

/** Read for each connection, so that a renewed certificate is picked up. */
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

/** `end` is the socket's own: while it connects, the library does not know it yet, and leaves it to connect. */
function wrap(client: RedisClientType, end: AbortController, lost: (error: unknown) => void): Connection {
  let isOpen = false
  const lose = (error: unknown): void => {
    if (!isOpen) return
    isOpen = false
    lost(error)
  }
  client.on('error', lose)
  return {
    async open() {
      await client.connect()
      isOpen = true
    },
    send: (command) => client.sendCommand(command),
    subscribe: async (channel, heard) => {
      await client.subscribe(channel, heard)
    },
    destroy() {
      isOpen = false
      // A client that is not open says so by throwing; there is nothing left to end.
      if (client.isOpen) client.destroy()
      end.abort()
    },
  }
}
