/** The bridge on a real RabbitMQ: what publishers and consumers, who know nothing of punctual, see of it. */
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { until } from '../../../store/redis/until.ts'
import type { Broker } from '../broker.ts'
import { World } from '../world.ts'

const HOUR_MS = 3_600_000

export function describeMessages(broker: Broker): void {
  const world = (): Promise<World> => World.open(broker.url)
  const owned = broker.owned

  describe('in and out', () => {
    it('P7, P1: delays of 5, 4, 3, 2, 1 arrive as 1, 2, 3, 4, 5, none early', async () => {
      const w = await world()
      await w.bridge()
      for (const n of [5, 4, 3, 2, 1]) await w.delayed(`d${n}`, n * 150)
      const arrivals = await w.arrived(5)
      expect(w.bodies).toEqual(['d1', 'd2', 'd3', 'd4', 'd5'])
      for (const { lateMs } of arrivals) expect(lateMs).toBeGreaterThanOrEqual(0)
    })

    it('the examples of the plugin work, and so do the headers of the commercial one', async () => {
      const w = await world()
      await w.bridge()
      const began = Date.now()
      await w.publish('delayed payload', { headers: { 'x-delay': 300 } })
      await w.publish('more delayed payload', { headers: { 'x-delay': 100 } })
      await w.publish('no header', {})
      await w.publish('negative, as the plugin hands it on', { headers: { 'x-delay': -1000 } })
      await w.publish('as text', { headers: { 'x-delay': '400' } })
      await w.publish('delay', { headers: { 'x-opt-delivery-delay': 500 } })
      await w.publish('time', { headers: { 'x-opt-delivery-time': began + 600 } })
      const dueAfter = new Map(
        (await w.arrived(7)).map(({ body, headers }) => [
          body.toString(),
          Number(headers['x-due-at']) - began,
        ]),
      )
      // Delays count from storing, and a slow machine may take long to publish the next one: so each is due no earlier
      // than it asked for. That they arrive in order is tested with delays of 5, 4, 3, 2 and 1.
      const asked = {
        'no header': 0,
        'negative, as the plugin hands it on': 0,
        'more delayed payload': 100,
        'delayed payload': 300,
        'as text': 400,
        delay: 500,
        time: 600,
      }
      expect([...dueAfter.keys()].toSorted()).toEqual(Object.keys(asked).toSorted())
      for (const [body, delayMs] of Object.entries(asked))
        expect(dueAfter.get(body), body).toBeGreaterThanOrEqual(delayMs)
      expect(dueAfter.get('time')).toBe(600)
    })

    it('properties, full header tables, routing key and binary bodies travel unchanged', async () => {
      const w = await world()
      await w.bridge()
      const properties = {
        contentType: 'application/octet-stream',
        contentEncoding: 'gzip',
        deliveryMode: 2,
        priority: 0,
        correlationId: 'c-1',
        replyTo: 'somewhere',
        messageId: 'm-ü',
        timestamp: 1_700_000_000,
        type: '',
        appId: 'shop',
      }
      const headers = {
        text: 'ünïcode',
        empty: '',
        yes: true,
        nothing: null,
        int: -5,
        'beyond 31 bits': 3_000_000_000,
        'beyond 32 bits': 2 ** 52,
        double: 3.141592653589793,
        bytes: Buffer.from([0, 255, 128]),
        list: [1, 'two', [3.5], { four: false }],
        table: { deep: { deeper: Buffer.from('x'), at: { '!': 'timestamp', value: 1_700_000_000 } } },
        decimal: { '!': 'decimal', value: { places: 2, digits: 12_345 } },
        'x-first-death-queue': 'stays',
      }
      const body = Buffer.concat([Buffer.from([0, 1, 2, 255, 254]), randomBytes(1000)])
      await w.delayed(body, 50, { ...properties, key: 'a.b.ç', headers: { ...headers, 'x-death': ['goes'] } })
      const [arrival] = await w.arrived(1)
      const {
        'x-due-at': dueAt,
        'x-lateness-ms': lateness,
        'x-punctual-id': id,
        ...kept
      } = arrival?.headers ?? {}
      expect(kept).toEqual({ ...headers, 'x-delay': 50 })
      expect(arrival?.body.equals(body)).toBe(true)
      expect(arrival?.key).toBe('a.b.ç')
      expect(arrival?.properties).toMatchObject(properties)
      expect(id).toBe('m-ü')
      expect(dueAt).toBeTypeOf('number')
      expect(lateness).toBeGreaterThanOrEqual(0)
    })

    it('bodies of 1 MB and 16 MiB travel, binary and text; one byte more is refused', async () => {
      const w = await world()
      const directory = await mkdtemp(join(tmpdir(), 'punctual-bridge-'))
      onTestFinished(() => rm(directory, { recursive: true, force: true }))
      await w.bridge({ store: `file:${directory}` })
      const large = randomBytes(16 * 1024 * 1024)
      await w.delayed(large, 200)
      await w.delayed('é'.repeat(500_000), 1)
      await w.delayed(Buffer.alloc(large.length + 1), 1, { messageId: 'too-large' })
      const refused = await w.refused()
      expect(refused.properties.headers).toMatchObject({ 'x-refused-code': 'PAYLOAD_TOO_LARGE' })
      // In any order: a slow machine may take longer to store the large one than the other has to wait.
      const bodies = (await w.arrived(2)).map(({ body }) => body).toSorted((a, b) => a.length - b.length)
      expect(bodies[0]?.length).toBe(1_000_000)
      expect(bodies[1]?.equals(large)).toBe(true)
    })

    it('P2: what came in while no bridge ran is not lost, and a stopped bridge leaves the rest to the next', async () => {
      const w = await world()
      const directory = await mkdtemp(join(tmpdir(), 'punctual-bridge-'))
      onTestFinished(() => rm(directory, { recursive: true, force: true }))
      const store = `file:${directory}`
      const first = await w.bridge({ store })
      for (let i = 0; i < 50; i += 1) await w.delayed(`a${i}`, HOUR_MS)
      await until('all are stored', async () => (await first.queue.stats()).counts.delayed === 50)
      expect(await first.stop()).toMatchObject({ errors: [] })
      for (let i = 0; i < 50; i += 1) await w.delayed(`b${i}`, 100)
      const second = await w.bridge({ store })
      await second.queue.reschedule({ state: 'delayed' }, { delay: 0 })
      await w.arrived(100)
      expect(new Set(w.bodies).size).toBe(100)
      expect(w.arrivals).toHaveLength(100)
    })
  })

  describe('what cannot be followed', () => {
    it.each([
      ['a delay that is no number', { 'x-delay': 'soon' }, /x-delay.*milliseconds/],
      ['a delay beyond 100 years', { 'x-delay': 4_000_000_000_000 }, /100 years/],
      ['two ways to say when', { 'x-delay': 1, 'x-opt-delivery-time': 1 }, /one of them/],
      ['an unknown x-if-exists', { 'x-if-exists': 'maybe' }, /keep, replace, fail/],
      ['a key that is no text', { 'x-key': 7 }, /x-key/],
      ['x-if-exists without a message_id', { 'x-if-exists': 'keep' }, /message_id/],
      ['a number that would be changed', { n: { '!': 'int64', value: 2n ** 60n + 1n } }, /2\^53/],
    ])('%s goes to the refused queue with its reason, once', async (_, headers, reason) => {
      const w = await world()
      await w.bridge()
      await w.publish('bad', { headers, key: 'its.key' })
      await w.publish('good')
      await w.arrived(1)
      const refused = await w.refused()
      expect(refused.content.toString()).toBe('bad')
      expect(refused.properties.headers).toMatchObject({
        'x-refused-code': 'HEADER_INVALID',
        'x-refused-exchange': w.from,
        'x-refused-key': 'its.key',
      })
      expect(String((refused.properties.headers as Record<string, unknown>)['x-refused-reason'])).toMatch(
        reason,
      )
      expect(w.bodies).toEqual(['good'])
      expect([await w.depth(w.queues.in), await w.depth(w.queues.refused)]).toEqual([0, 0])
      expect(w.events.filter(({ kind }) => kind === 'refused')).toHaveLength(1)
    })

    it('what expires in the in queue while no bridge runs is kept in the refused queue', async () => {
      const w = await world()
      const first = await w.bridge()
      await first.stop()
      await w.delayed('short-lived', 60_000, { expiration: '50' })
      expect((await w.refused()).content.toString()).toBe('short-lived')
    })

    it.skipIf(broker.isGiven)(
      'a user_id that is not the bridge’s own travels as a header, because the broker would refuse it',
      async () => {
        const w = await world()
        await owned().ctl('add_user', 'other', 'secret')
        await owned().ctl('set_permissions', 'other', '.*', '.*', '.*')
        const w2 = await World.open(broker.url.replace('amqp://', 'amqp://other:secret@'))
        await w.bridge()
        w2.channel.publish(w.from, 'k', Buffer.from('signed'), {
          userId: 'other',
          headers: { 'x-delay': 20 },
        })
        await w.delayed('own', 100, { userId: 'guest' })
        const [foreign, own] = await w.arrived(2)
        expect(foreign?.properties.userId).toBeUndefined()
        expect(foreign?.headers['x-user-id']).toBe('other')
        expect(own?.properties.userId).toBe('guest')
      },
    )
  })

  describe('ids', () => {
    it('P5: publishers that repeat a message_id without x-if-exists lose nothing', async () => {
      const w = await world()
      await w.bridge()
      for (let i = 0; i < 5; i += 1) await w.delayed(`same ${i}`, 150, { messageId: 'same' })
      await w.arrived(5)
      expect(w.bodies.toSorted()).toEqual(['same 0', 'same 1', 'same 2', 'same 3', 'same 4'])
    })

    it('P5: x-if-exists keeps, replaces or refuses', async () => {
      const w = await world()
      const b = await w.bridge()
      const send = (body: string, delay: number, ifExists: string): Promise<void> =>
        w.delayed(body, delay, { messageId: ifExists, headers: { 'x-if-exists': ifExists } })
      for (const word of ['keep', 'replace', 'fail']) await send(`first ${word}`, 700, word)
      await until('all are stored', async () => (await b.queue.stats()).counts.delayed === 3)
      for (const word of ['keep', 'replace', 'fail']) await send(`second ${word}`, 800, word)
      expect((await w.refused()).properties.headers).toMatchObject({ 'x-refused-code': 'ID_EXISTS' })
      await w.arrived(3)
      expect(w.bodies).toEqual(['first keep', 'first fail', 'second replace'])
    })

    it('P16: x-key is the key of the message', async () => {
      const w = await world()
      const b = await w.bridge({ store: 'memory:' })
      await w.delayed('one', 60_000, { headers: { 'x-key': 'customer-7' } })
      await w.delayed('two', 60_000, { messageId: 'two', headers: { 'x-key': 'customer-7' } })
      await until(
        'both are stored',
        async () => (await b.queue.list({ key: 'customer-7' })).items.length === 2,
      )
    })

    it('a redelivered duplicate of what is stored is dropped; a different message under its id is not', async () => {
      const w = await world()
      const directory = await mkdtemp(join(tmpdir(), 'punctual-bridge-'))
      onTestFinished(() => rm(directory, { recursive: true, force: true }))
      const store = `file:${directory}`
      const first = await w.bridge({ store })
      await w.delayed('once', HOUR_MS, { messageId: 'm' })
      await until('it is stored', async () => (await first.queue.stats()).counts.delayed === 1)
      await first.stop()
      // As if that bridge had died between storing and acknowledging.
      await w.delayed('once', HOUR_MS, { messageId: 'm' })
      await w.delayed('other', HOUR_MS, { messageId: 'm' })
      for (let i = 0; i < 2; i += 1) {
        await until('it is given back once', async () => {
          const taken = await w.channel.get(w.queues.in, { noAck: false })
          if (taken === false) return false
          w.channel.nack(taken, false, true)
          return taken.fields.redelivered || i === 1
        })
      }
      await until('both are back', async () => (await w.depth(w.queues.in)) === 2)
      const second = await w.bridge({ store })
      await until('both are taken', async () => (await w.depth(w.queues.in)) === 0)
      await until('two are stored', async () => (await second.queue.stats()).counts.delayed >= 2)
      await second.queue.reschedule({ state: 'delayed' }, { delay: 0 })
      await w.arrived(2)
      expect(w.bodies.toSorted()).toEqual(['once', 'other'])
    })
  })

  describe('the control queue', () => {
    it('cancel, reschedule and get answer what the store did', async () => {
      const w = await world()
      const b = await w.bridge()
      const long = 'x'.repeat(250)
      await w.delayed('a', 60_000, { messageId: 'a' })
      await w.delayed('b', 60_000, { messageId: long })
      await until('both are stored', async () => (await b.queue.stats()).counts.delayed === 2)
      const found = await w.ask({ do: 'get', id: 'a' })
      expect(found).toMatchObject({ id: 'a', result: 'found', message: { topic: w.from, state: 'delayed' } })
      expect(await w.ask({ do: 'cancel', id: 'a' })).toEqual({ id: 'a', result: 'cancelled' })
      expect(await w.ask({ do: 'cancel', id: 'a' })).toEqual({ id: 'a', result: 'missing' })
      expect(await w.ask({ do: 'get', id: 'a' })).toEqual({ id: 'a', result: 'missing' })
      expect(await w.ask({ do: 'reschedule', id: long, delay: '50ms' })).toEqual({
        id: long,
        result: 'rescheduled',
      })
      await w.arrived(1)
      expect(w.bodies).toEqual(['b'])
    })

    it.each([
      ['no JSON', 'cancel a', 'OPTION_INVALID'],
      ['an unknown verb', { do: 'explode', id: 'a' }, 'OPTION_INVALID'],
      ['no id', { do: 'cancel' }, 'ID_INVALID'],
      ['reschedule without a moment', { do: 'reschedule', id: 'a' }, 'OPTION_INVALID'],
      ['a bad delay', { do: 'reschedule', id: 'a', delay: 'soon' }, 'DURATION_INVALID'],
    ])('%s is answered with a code', async (_, request, code) => {
      const w = await world()
      await w.bridge()
      expect(await w.ask(request)).toMatchObject({ result: 'error', code })
    })
  })

  describe('what the broker cannot route', () => {
    it('is tried again by the retry policy, then a dead letter "unroutable" that can be revived', async () => {
      const w = await world()
      const b = await w.bridge({ retry: { delays: ['50ms', '50ms'] } })
      await w.channel.unbindQueue(w.to, w.to, '#')
      for (let i = 0; i < 20; i += 1) await w.delayed(`m${i}`, 50, { messageId: `m${i}` })
      await until('all are dead', async () => (await b.queue.stats()).counts.dead === 20)
      const { items } = await b.queue.list({ state: 'dead' })
      expect(items.every(({ reason, attempt }) => reason === 'unroutable' && attempt === 3)).toBe(true)
      expect(items[0]?.error).toContain('no queue is bound')
      expect(await b.doctor()).toContainEqual(
        expect.objectContaining({
          level: 'warning',
          what: expect.stringContaining('20 messages') as unknown,
        }),
      )
      await w.channel.bindQueue(w.to, w.to, '#')
      expect(await b.queue.revive({ state: 'dead' })).toBe(20)
      await w.arrived(20)
    })
  })

  describe('the doctor', () => {
    it('finds nothing wrong where nothing is', async () => {
      const w = await world()
      const b = await w.bridge(broker.server === undefined ? {} : { management: broker.server.managementUrl })
      const findings = await b.doctor()
      const aboutBroker = findings.filter(({ what }) => !what.includes('this process'))
      expect(aboutBroker.filter(({ level }) => level !== 'fine')).toEqual([])
      expect(aboutBroker.map(({ what }) => what).join('\n')).toMatch(/RabbitMQ \d/)
    })

    it.skipIf(broker.isGiven)(
      'names a target without bindings, refused messages and a policy that shortens the queue',
      async () => {
        const w = await world()
        const b = await w.bridge({ management: owned().managementUrl })
        await w.channel.unbindQueue(w.to, w.to, '#')
        await w.publish('bad', { headers: { 'x-delay': 'soon' } })
        await until('it is refused', async () => (await w.depth(w.queues.refused)) === 1)
        await owned().ctl('set_policy', 'short', `^punctual.v1.${w.name}`, '{"message-ttl":1000}')
        onTestFinished(async () => {
          await owned().ctl('clear_policy', 'short')
        })
        await until('the policy is seen', async () => {
          const findings = await b.doctor()
          const wrong = findings
            .filter(({ level }) => level !== 'fine')
            .map(({ what }) => what)
            .join('\n')
          return (
            /nothing is bound/.test(wrong) && /1 refused/.test(wrong) && /policy sets message-ttl/.test(wrong)
          )
        })
      },
    )
  })
}
