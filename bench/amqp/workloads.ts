/** What the contestants are asked to do. Lateness is taken at a consumer of the target queue, in this process. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ChannelModel, ConfirmChannel } from 'amqplib'
import type * as Library from '../../src/index.ts'
import { connect, TARGET, type Contestant } from './contestants.ts'

// The build, as the bridge: the file engine's thread is a program of its own.
const { Punctual } = (await import(new URL('../../dist/index.js', import.meta.url).href)) as typeof Library

const now = (): number => performance.timeOrigin + performance.now()

export type Figures = Readonly<Record<string, number | string>>

let runs = 0

/** A connection to publish on, one to consume on, and what has arrived: by id, how late, in which order. */
export class Bench {
  readonly late = new Map<string, number>()
  readonly order: string[] = []
  readonly channel: ConfirmChannel
  inversions = 0
  readonly #name = `run ${(runs += 1)}`
  repeats = 0
  #latestAt = 0
  readonly #connections: readonly ChannelModel[]

  private constructor(connections: readonly ChannelModel[], channel: ConfirmChannel) {
    this.#connections = connections
    this.channel = channel
  }

  static async open(url: string): Promise<Bench> {
    const connections = [await connect(url), await connect(url)] as const
    const bench = new Bench(connections, await connections[0].createConfirmChannel())
    const consuming = await connections[1].createChannel()
    await consuming.purgeQueue(TARGET)
    await consuming.prefetch(2_000)
    await consuming.consume(TARGET, (message) => {
      if (message === null) return
      const { messageId, appId, headers } = message.properties
      // What another run left behind is taken, and not counted.
      if (appId === bench.#name) bench.#note(String(messageId), Number(headers?.['bench-at']))
      consuming.ack(message)
    })
    return bench
  }

  #note(id: string, at: number): void {
    if (this.late.has(id)) this.repeats += 1
    if (at < this.#latestAt) this.inversions += 1
    this.#latestAt = Math.max(this.#latestAt, at)
    this.late.set(id, now() - at)
    this.order.push(id)
  }

  send(contestant: Contestant, id: string, at: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const headers = { 'bench-at': { '!': 'double', value: at } }
      contestant.publish(this.channel, at, { messageId: id, appId: this.#name, headers }, (error) =>
        error instanceof Error ? reject(error) : resolve(),
      )
    })
  }

  async arrived(count: number, capMs: number): Promise<void> {
    const giveUpAt = now() + capMs
    while (this.late.size < count && now() < giveUpAt) await sleep(20)
  }

  figures(expected: number): Figures {
    const late = [...this.late.values()].toSorted((a, b) => a - b)
    const quantile = (q: number): number =>
      Number((late[Math.min(late.length - 1, Math.floor(late.length * q))] ?? 0).toFixed(1))
    return {
      arrived: `${late.length} of ${expected}`,
      p50: quantile(0.5),
      p99: quantile(0.99),
      max: quantile(1),
      earliest: quantile(0),
      'out of order': this.inversions,
      repeats: this.repeats,
    }
  }

  async close(): Promise<void> {
    for (const connection of this.#connections) await connection.close()
  }
}

/** Delays of 5, 4, 3, 2, 1 s. */
export async function five(url: string, contestant: Contestant): Promise<Figures> {
  const bench = await Bench.open(url)
  const started = Math.ceil(now()) + 20
  for (const s of [5, 4, 3, 2, 1]) await bench.send(contestant, String(s), started + s * 1_000)
  await bench.arrived(5, 15_000)
  const order = bench.order.map((s) => `${s} (${Math.round(bench.late.get(s) ?? 0)})`).join(', ')
  await bench.close()
  return { 'order (ms late)': order }
}

/** Code that was never run is slow, in each of the three processes: nobody is judged by it. */
export async function warm(url: string, contestant: Contestant): Promise<void> {
  await paced(url, contestant, 500, 4)
}

/** So many per second for `seconds`, each due 0.2 to 4.2 s later; whole steps for a contestant that has them. */
export async function paced(
  url: string,
  contestant: Contestant,
  ratePerS: number,
  seconds: number,
): Promise<Figures> {
  const bench = await Bench.open(url)
  const total = ratePerS * seconds
  const started = now()
  const sends: Promise<void>[] = []
  for (let i = 0; i < total;) {
    const due = Math.min(total, Math.floor(((now() - started) * ratePerS) / 1_000) + 1)
    for (; i < due; i += 1) {
      const steps = Math.ceil((200 + Math.random() * 4_000) / contestant.stepMs)
      sends.push(bench.send(contestant, String(i), Math.ceil(now()) + steps * contestant.stepMs))
    }
    await sleep(1)
  }
  await Promise.all(sends)
  await bench.arrived(total, 60_000)
  const figures = bench.figures(total)
  await bench.close()
  return figures
}

/** So many with one moment. */
export async function burst(url: string, contestant: Contestant, count: number): Promise<Figures> {
  const bench = await Bench.open(url)
  const at = Math.ceil(now()) + Math.max(8_000, count)
  const perS = await publishAll(count, 2_000, (i) => bench.send(contestant, String(i), at))
  const left = Math.round(at - now())
  await bench.arrived(count, 120_000 + left)
  const { arrived, p50, max, repeats } = bench.figures(count)
  await bench.close()
  return {
    arrived: arrived ?? '',
    p50: p50 ?? '',
    'last one': max ?? '',
    repeats: repeats ?? '',
    'published/s': perS,
    'ms left then': left,
  }
}

/** How fast messages are taken: confirmed by the broker, and, for the bridge, in its store. */
export async function taken(
  url: string,
  contestant: Contestant,
  count: number,
  store?: string,
): Promise<Figures> {
  const bench = await Bench.open(url)
  const at = now() + 3_600_000
  const queue = store === undefined ? undefined : new Punctual({ store, logger: false })
  const before = (await queue?.stats())?.counts.delayed ?? 0
  const started = now()
  const perS = await publishAll(count, 2_000, (i) => bench.send(contestant, `t${i}`, at))
  if (queue === undefined) {
    await bench.close()
    return { 'confirmed/s': perS }
  }
  while (((await queue.stats()).counts.delayed ?? 0) - before < count) await sleep(20)
  const storedPerS = Math.round((count / (now() - started)) * 1_000)
  await queue.stop()
  await bench.close()
  return { 'confirmed/s': perS, 'stored/s': storedPerS }
}

async function publishAll(
  count: number,
  inFlight: number,
  send: (i: number) => Promise<void>,
): Promise<number> {
  const started = now()
  let next = 0
  const work = async (): Promise<void> => {
    while (next < count) await send(next++)
  }
  await Promise.all(Array.from({ length: inFlight }, work))
  return Math.round((count / (now() - started)) * 1_000)
}

/** The control queue beside many waiting messages: each verb `asks` times, one after the other. */
export async function verbs(url: string, store: string, waiting: number, asks: number): Promise<Figures> {
  const queue = new Punctual({ store, logger: false })
  const batch = 10_000
  for (let from = 0; from < waiting; from += batch) {
    const entries = Array.from({ length: Math.min(batch, waiting - from) }, (_, i) => ({
      topic: 'bench.waiting',
      payload: 'x'.repeat(200),
      id: `w${from + i}`,
      delay: 86_400_000 + from + i,
    }))
    await queue.produceMany(entries)
  }
  const connection = await connect(url)
  const channel = await connection.createChannel()
  const { queue: replies } = await channel.assertQueue('', { exclusive: true })
  const answers = new Map<string, () => void>()
  await channel.consume(replies, (message) => answers.get(String(message?.properties.correlationId))?.(), {
    noAck: true,
  })
  const figures: Record<string, number | string> = { waiting }
  for (const verb of ['get', 'reschedule', 'cancel']) {
    const took: number[] = []
    for (let i = 0; i < asks; i += 1) {
      const id = `w${Math.floor((i * waiting) / asks)}`
      const began = performance.now()
      await new Promise<void>((resolve) => {
        answers.set(`${verb}${i}`, resolve)
        const request = JSON.stringify({
          do: verb,
          id,
          ...(verb === 'reschedule' ? { delay: 90_000_000 } : {}),
        })
        channel.sendToQueue('punctual.v1.default.control', Buffer.from(request), {
          replyTo: replies,
          correlationId: `${verb}${i}`,
        })
      })
      took.push(performance.now() - began)
    }
    took.sort((a, b) => a - b)
    figures[`${verb} p50, p99 (ms)`] = [0.5, 0.99]
      .map((q) => (took[Math.floor(took.length * q)] ?? 0).toFixed(1))
      .join(', ')
  }
  await queue.purge({ state: 'delayed', topic: 'bench.waiting' })
  await queue.stop()
  await connection.close()
  return figures
}
