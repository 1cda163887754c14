/** Opens and ends connections to the broker: the only file that loads the client library. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { ChannelModel } from 'amqplib'
import type * as ClientLibrary from 'amqplib'
import { sleep, type Clock } from '../../../clock.ts'
import { UsageError, errorText } from '../../../core/errors.ts'

export type DialOptions = {
  readonly url: string
  readonly heartbeatS: number
  readonly tls: object
  /** What the broker's operator sees in the list of connections. */
  readonly name: string
}

const CONNECT_MS_MAX = 10_000
const CLOSE_MS_MAX = 1_000

/** `signal` ends the attempt; an open connection is not touched by it. */
export async function dial(
  { url, heartbeatS, tls, name }: DialOptions,
  signal?: AbortSignal,
): Promise<ChannelModel> {
  const { connect } = await importClient()
  const target = new URL(url)
  target.searchParams.set('heartbeat', String(heartbeatS))
  const attempt = new AbortController()
  const giveUp = (): void => attempt.abort()
  if (signal?.aborted === true) giveUp()
  signal?.addEventListener('abort', giveUp)
  const ending: object = { signal: attempt.signal } // Of `net.Socket`; the types of the library leave it out.
  const connection = await connect(target.href, {
    ...tls,
    ...ending,
    noDelay: true, // A lone confirm or ack must not wait until a packet is full.
    timeout: CONNECT_MS_MAX,
    clientProperties: { connection_name: name },
  }).finally(() => signal?.removeEventListener('abort', giveUp))
  // Without a listener an error would end the process; `close` follows every error and is the one to act on.
  connection.on('error', () => undefined)
  return connection
}

/** Ends it in order if that is quick, and else at once. Never rejects. */
export async function hangUp(connection: ChannelModel, clock: Clock): Promise<void> {
  await within(clock, CLOSE_MS_MAX, close(connection))
  socketOf(connection)?.destroy()
}

/** The library throws instead of rejecting when the connection is closed already. */
async function close(connection: ChannelModel): Promise<void> {
  await connection.close()
}

/** Resolves when the work has ended, however it did, and at the cap at the latest. */
export async function within(clock: Clock, capMs: number, work: Promise<unknown>): Promise<void> {
  const over = new AbortController()
  void Promise.allSettled([work]).then(() => over.abort())
  await sleep(clock, capMs, over.signal)
}

/** Cuts a connection that is no longer of use; `close` is emitted as if the network had done it. */
export function cut(connection: ChannelModel): void {
  socketOf(connection)?.destroy(new Error('given up by the bridge'))
}

/** The library only half-closes a socket, which then keeps the process alive while a frozen peer does not answer. */
function socketOf(connection: ChannelModel): { destroy(error?: Error): void } | undefined {
  const { stream } = connection.connection as { readonly stream?: { destroy(error?: Error): void } }
  return stream
}

export function brokerVersion(connection: ChannelModel): string {
  const { product, version } = connection.connection.serverProperties
  return `${product} ${version}`
}

async function importClient(): Promise<typeof ClientLibrary> {
  try {
    const client = await import('amqplib')
    refuseOld(installedVersion())
    return client
  } catch (error) {
    if (error instanceof UsageError) throw error
    throw new UsageError(
      'BROKER_CLIENT_MISSING',
      `the bridge needs the package "amqplib", version 2 or newer, which could not be loaded (${errorText(error).split('\n')[0]}): npm install amqplib`,
      { cause: error },
    )
  }
}

/** With 0.10 a header that would arrive changed was not noticed in our tests; from 2 on all of them pass. */
function refuseOld(version: string | undefined): void {
  if (version === undefined || Number.parseInt(version, 10) >= 2) return
  throw new UsageError(
    'BROKER_CLIENT_TOO_OLD',
    `the package "amqplib" is of version ${version}; the bridge needs 2 or newer: npm install amqplib@2`,
    { value: version },
  )
}

/** Undefined in a bundle, where there is no package to ask. */
function installedVersion(): string | undefined {
  try {
    const entry = createRequire(import.meta.url).resolve('amqplib')
    const { version } = JSON.parse(readFileSync(join(dirname(entry), 'package.json'), 'utf8')) as {
      version: string
    }
    return version
  } catch {
    return undefined
  }
}
