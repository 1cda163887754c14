/** Who delays the messages, all on one broker: each takes a message and a moment and brings it to the target queue. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import amqplib, { type ChannelModel, type ConfirmChannel, type Options } from 'amqplib'
import { cascadeEntry, declareCascade, declareNaive, deleteCascade, type Cascade } from './cascade.ts'

const BINARY = fileURLToPath(new URL('../../dist/doors/cli/main.js', import.meta.url))
export const TARGET = 'bench.target'

export type Contestant = {
  readonly name: string
  /** Delays that are not multiples of this are rounded up by it. */
  readonly stepMs: number
  readonly publish: (
    channel: ConfirmChannel,
    at: number,
    options: Options.Publish,
    done: (error: unknown) => void,
  ) => void
  readonly stop: () => Promise<void>
}

const BODY = Buffer.alloc(200, 'x')

export async function connect(url: string): Promise<ChannelModel> {
  return amqplib.connect(url, { noDelay: true })
}

export async function declareTarget(url: string): Promise<void> {
  const connection = await connect(url)
  const channel = await connection.createChannel()
  await channel.assertQueue(TARGET, { durable: true, arguments: { 'x-queue-type': 'quorum' } })
  await connection.close()
}

export async function naive(url: string): Promise<Contestant> {
  const connection = await connect(url)
  const admin = await connection.createChannel()
  await declareNaive(admin, 'bench.naive', TARGET)
  return {
    name: 'naive TTL',
    stepMs: 1,
    publish: (channel, at, options, done) => {
      const expiration = String(Math.max(0, Math.ceil(at - Date.now())))
      channel.publish('', 'bench.naive', BODY, { ...options, persistent: true, expiration }, done)
    },
    stop: async () => {
      await admin.deleteQueue('bench.naive')
      await connection.close()
    },
  }
}

export async function cascade(url: string, unitMs: number): Promise<Contestant> {
  const connection = await connect(url)
  const levels: Cascade = { prefix: `bench.cascade${unitMs}`, unitMs, target: TARGET }
  const admin = await connection.createChannel()
  await declareCascade(admin, levels)
  return {
    name: `cascade, 28 levels of ${unitMs} ms`,
    stepMs: unitMs,
    publish: (channel, at, options, done) => {
      const { exchange, key } = cascadeEntry(levels, at - Date.now())
      channel.publish(exchange, key, BODY, { ...options, persistent: true }, done)
    },
    stop: async () => {
      await deleteCascade(admin, levels)
      await connection.close()
    },
  }
}

/** A timer in the publisher, and a direct publish at its moment: what the broker itself takes. Nothing outlives the process. */
export function timed(): Contestant {
  const floor = direct()
  return {
    ...floor,
    name: 'timer, direct publish',
    publish: (channel, at, options, done) => {
      setTimeout(
        () => floor.publish(channel, at, options, done),
        at - performance.timeOrigin - performance.now(),
      )
    },
  }
}

/** No delay at all: the floor of what is taken in. */
export function direct(): Contestant {
  return {
    name: 'direct publish',
    stepMs: 1,
    publish: (channel, _at, options, done) => {
      channel.publish('', TARGET, BODY, { ...options, persistent: true }, done)
    },
    stop: () => Promise.resolve(),
  }
}

/** `punctual bridge` in a process of its own, on the file engine unless told otherwise. */
export async function bridge(url: string, store?: string): Promise<Contestant & { readonly store: string }> {
  const directory = mkdtempSync(join(tmpdir(), 'punctual-bench-'))
  const at = store ?? `file:${directory}`
  const child = spawn(process.execPath, [BINARY, 'bridge', url, '--store', at, '--from', 'bench.delayed'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await whenConnected(child)
  return {
    name: `punctual bridge, ${at.slice(0, at.indexOf(':'))}`,
    stepMs: 1,
    store: at,
    publish: (channel, moment, options, done) => {
      const headers = { ...(options.headers as object | undefined), 'x-opt-delivery-time': Math.ceil(moment) }
      channel.publish('bench.delayed', TARGET, BODY, { ...options, persistent: true, headers }, done)
    },
    stop: async () => {
      const exited = once(child, 'exit')
      child.kill('SIGTERM')
      await exited
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

async function whenConnected(child: ChildProcess): Promise<void> {
  let said = ''
  await new Promise<void>((resolve, reject) => {
    child.stdout?.on('data', (chunk: Buffer) => {
      said += chunk.toString()
      if (said.includes('connected (in)')) resolve()
    })
    child.once('exit', () => reject(new Error(`the bridge ended: ${said}`)))
  })
}
