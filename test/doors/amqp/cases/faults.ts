/** What networks, brokers and operators do to a bridge. A node of its own: it is starved, killed and started again. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { bridge, type BridgeOptions } from '../../../../src/doors/amqp/index.ts'
import { Proxy } from '../../../store/redis/proxy.ts'
import { freePort } from '../../../free-port.ts'
import { until } from '../../../store/redis/until.ts'
import type { Broker } from '../broker.ts'
import { World } from '../world.ts'

const countOf = (w: World, kind: string): number => w.events.filter((event) => event.kind === kind).length

/** A broker that others use is neither killed nor starved. */
export function describeFaults(broker: Broker): void {
  const throughProxy = async (w: World, options: Partial<BridgeOptions> = {}): Promise<Proxy> => {
    const proxy = await Proxy.before(broker.owned().port)
    onTestFinished(() => proxy.close())
    await w.bridge({ ...options, url: proxy.url.replace('redis:', 'amqp:') })
    return proxy
  }

  describe('connections', () => {
    it('P2: both are cut again and again while messages pass; none is lost, none is early', async () => {
      const w = await World.open(broker.owned().url)
      const proxy = await throughProxy(w)
      const total = 400
      for (let i = 0; i < total; i += 1) {
        await w.delayed(`m${i}`, 100 + (i % 7) * 20, { messageId: `m${i}` })
        if (i % 100 === 99) proxy.cut()
      }
      await until('every message arrives', () => new Set(w.bodies).size === total)
      for (const { lateMs } of w.arrivals) expect(lateMs).toBeGreaterThanOrEqual(0)
      expect(countOf(w, 'disconnected')).toBeGreaterThanOrEqual(4)
    })

    it('half-open ones are noticed by their missing heartbeats, also while publishing', async () => {
      const w = await World.open(broker.owned().url)
      const proxy = await throughProxy(w, { heartbeat: '1s' })
      for (let i = 0; i < 50; i += 1) await w.delayed(`m${i}`, 300)
      proxy.fallSilent()
      await until('the silence is noticed', () => countOf(w, 'disconnected') >= 2)
      proxy.speakAgain()
      await until('every message arrives', () => new Set(w.bodies).size === 50)
    })

    it('P11: a bridge stops while its broker is away, and what was due is given back uncounted', async () => {
      const w = await World.open(broker.owned().url)
      const directory = await mkdtemp(join(tmpdir(), 'punctual-bridge-'))
      onTestFinished(() => rm(directory, { recursive: true, force: true }))
      const proxy = await Proxy.before(broker.owned().port)
      onTestFinished(() => proxy.close())
      const url = proxy.url.replace('redis:', 'amqp:')
      const first = await w.bridge({ url, store: `file:${directory}`, heartbeat: '1s' })
      for (let i = 0; i < 20; i += 1) await w.delayed(`m${i}`, 500)
      await until('all are stored', async () => (await first.queue.stats()).counts.delayed === 20)
      proxy.fallSilent()
      await until('the silence is noticed', () => countOf(w, 'disconnected') >= 2)
      await until('all wait for the broker', async () => (await first.queue.stats()).counts.running === 20)
      expect(await first.stop()).toMatchObject({ errors: [] })
      const seen = w.events.length
      await w.bridge({ store: `file:${directory}` })
      await w.arrived(20)
      expect(w.events.slice(seen).filter(({ kind }) => kind === 'refused')).toEqual([])
    })
  })

  describe('the broker', () => {
    it('takes nothing during an alarm: what is due waits, uncounted, and leaves in order afterwards', async () => {
      const w = await World.open(broker.owned().url)
      const b = await w.bridge()
      const names = Array.from({ length: 30 }, (_, i) => `m${i}`)
      for (const name of names) await w.delayed(name, 3_600_000, { messageId: name })
      await until('all are stored', async () => (await b.queue.stats()).counts.delayed === 30)
      onTestFinished(() => broker.owned().alarm(false))
      await broker.owned().alarm(true)
      for (const name of names) await b.queue.reschedule(name, { delay: 0 })
      await until('the bridge is told', () => countOf(w, 'blocked') === 1)
      // The broker tells its connections of the alarm one after the other: what was published before ours heard has left.
      const waiting = async (): Promise<number> => (await b.queue.stats()).counts.running
      await until('all others wait', async () => (await waiting()) === 30 - new Set(w.bodies).size)
      const left = w.arrivals.length
      expect(await waiting()).toBeGreaterThan(0)
      expect(await b.doctor()).toContainEqual(
        expect.objectContaining({
          level: 'problem',
          what: expect.stringMatching(/takes no messages/) as unknown,
        }),
      )
      expect(w.arrivals).toHaveLength(left)
      await broker.owned().alarm(false)
      await w.arrived(30)
      expect(w.bodies).toEqual(names)
      expect(countOf(w, 'unblocked')).toBe(1)
    })

    it('P2: is killed and comes back: all arrive, also what was published before the kill and not yet taken', async () => {
      const w = await World.open(broker.owned().url)
      const b = await w.bridge()
      for (let i = 0; i < 100; i += 1) await w.delayed(`m${i}`, 300 + i * 10)
      await until('some are out', () => w.arrivals.length > 5)
      await broker.owned().kill()
      await until('the bridge notices', () => countOf(w, 'disconnected') >= 2)
      await broker.owned().resume()
      const after = await World.open(broker.owned().url)
      await after.channel.consume(w.to, (message) => {
        if (message === null) return
        after.arrivals.push({ ...w.arrivals[0], body: message.content } as never)
        after.channel.ack(message)
      })
      await until('every message arrives', () => new Set([...w.bodies, ...after.bodies]).size === 100)
      expect((await b.queue.stats()).counts.dead).toBe(0)
    })
  })

  describe('operators', () => {
    it('delete the in queue: it is declared anew, and messages flow', async () => {
      const w = await World.open(broker.owned().url)
      await w.bridge()
      await w.channel.deleteQueue(w.queues.in)
      await until('the bridge is back', () => countOf(w, 'connected') === 3)
      await w.delayed('after', 10)
      await w.arrived(1)
    })

    it('delete the target exchange: its messages wait, other routes go on, nothing is lost', async () => {
      const w = await World.open(broker.owned().url)
      const second = `${w.name}.second`
      const b = await w.bridge({
        routes: [
          { from: w.from, to: w.to },
          { from: second, to: '' },
        ],
      })
      await w.channel.deleteExchange(w.to)
      await w.delayed('waits', 10)
      await until('it is told', () =>
        w.events.some((e) => e.kind === 'trouble' && /NOT_FOUND|no exchange/.test(e.error.message)),
      )
      w.channel.publish(second, w.to, Buffer.from('goes on'), { headers: { 'x-delay': 1 } })
      await w.arrived(1)
      await w.channel.assertExchange(w.to, 'topic', { durable: true })
      await w.channel.bindQueue(w.to, w.to, '#')
      await w.arrived(2)
      expect(w.bodies).toEqual(['goes on', 'waits'])
      expect((await b.queue.stats()).counts.dead).toBe(0)
    })

    it.each([
      [
        'a wrong password',
        (url: string) => ({ url: url.replace('amqp://', 'amqp://guest:wrong@') }),
        'BROKER_REFUSED',
      ],
      ['an unknown virtual host', (url: string) => ({ url: `${url}/nowhere` }), 'BROKER_REFUSED'],
      [
        'a target that does not exist',
        () => ({ routes: [{ from: 'a.delayed', to: 'nowhere' }] }),
        'BROKER_MISMATCH',
      ],
    ])('give %s: the start says so with a code', async (_, change, code) => {
      const w = await World.open(broker.owned().url)
      await expect(w.bridge(change(broker.owned().url))).rejects.toMatchObject({ code })
    })

    it('have a queue of another kind by that name, or no rights: the start says so, with the remedy', async () => {
      const w = await World.open(broker.owned().url)
      await w.channel.assertQueue(w.queues.in, { durable: true })
      await expect(w.bridge()).rejects.toMatchObject({
        code: 'BROKER_MISMATCH',
        message: expect.stringMatching(/Delete the old .* or choose another name/) as unknown,
      })
      await broker.owned().ctl('add_user', 'weak', 'secret')
      await broker.owned().ctl('set_permissions', 'weak', '^$', '.*', '.*')
      await expect(
        w.bridge({ url: broker.owned().url.replace('amqp://', 'amqp://weak:secret@') }),
      ).rejects.toMatchObject({
        code: 'BROKER_REFUSED',
        message: expect.stringMatching(/rights: configure, write and read/) as unknown,
      })
    })

    it('start the bridge before the broker: it waits, tells, and ends when told', async () => {
      const port = await freePort()
      const events: string[] = []
      const { Bridge } = await import('../../../../src/doors/amqp/bridge.ts')
      const { parseBridgeOptions } = await import('../../../../src/doors/amqp/options.ts')
      const made = new Bridge(
        parseBridgeOptions({
          url: `amqp://127.0.0.1:${port}`,
          store: 'memory:',
          onEvent: (event: { kind: string }) => events.push(event.kind),
          logger: false,
        }),
      )
      const started = made.start().catch((error: unknown) => error)
      await until('it tells', () => events.length > 2)
      await made.stop()
      expect(await started).toMatchObject({ code: 'QUEUE_STOPPED' })
      expect(new Set(events)).toEqual(new Set(['disconnected']))
      await expect(bridge({ url: 'http://x' })).rejects.toMatchObject({ code: 'BROKER_URL_INVALID' })
    })
  })
}
