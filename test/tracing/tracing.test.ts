/** Traces with the real SDK of OpenTelemetry: its spans are kept in memory and looked at. */
import { context, SpanKind, SpanStatusCode, trace, type Link } from '@opentelemetry/api'
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { Punctual, Snooze, type PunctualOptions } from '../../src/index.ts'
import { freshDatabase, isMysqlThere } from '../store/mysql/server.ts'
import { PostgresDatabase, VERSIONS } from '../store/postgres/server.ts'
import { RedisServer } from '../store/redis/server.ts'
import { makeStand, QUEUE } from '../doors/http/stand.ts'

const exporter = new InMemorySpanExporter()
const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
provider.register()
afterAll(() => provider.shutdown())
beforeEach(() => exporter.reset())

type Spans = ReturnType<InMemorySpanExporter['getFinishedSpans']>
const spans = (name: string): Spans => exporter.getFinishedSpans().filter((span) => span.name === name)

async function onlySpan(name: string): Promise<Spans[number]> {
  await expect.poll(() => spans(name).length, { timeout: 60_000 }).toBe(1)
  return spans(name)[0] as Spans[number]
}

function makeQueue(options: PunctualOptions = { store: 'memory:' }): Punctual {
  const queue = new Punctual({ logger: false, ...options })
  onTestFinished(() => queue.stop({ timeout: 0 }).then(() => undefined))
  return queue
}

const redis = RedisServer.start()
const postgres = VERSIONS.length === 0 ? undefined : PostgresDatabase.make()
afterAll(async () => (await redis).stop())

async function directory(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'punctual-tracing-'))
  onTestFinished(() => rm(path, { recursive: true, force: true }))
  return path
}

const STORES: [string, () => Promise<string>][] = [
  ['memory', async () => 'memory:'],
  ['file', async () => `file:${await directory()}`],
  ['redis', async () => (await redis).url],
  ...(postgres === undefined
    ? []
    : [['postgres', async () => (await postgres).url] satisfies [string, () => Promise<string>]]),
  ...(isMysqlThere ? [['mysql', freshDatabase] satisfies [string, () => Promise<string>]] : []),
]

describe.each(STORES)('on %s', (_engine, storeOf) => {
  it('an attempt has a trace of its own with a link to the span that produced the message', async () => {
    const queue = makeQueue({ store: await storeOf(), retry: { limit: 1, delays: [1] } })
    let attempts = 0
    queue.handle('order.close', () => {
      attempts += 1
      if (attempts === 1) throw new TypeError('not yet')
    })
    const tracer = trace.getTracer('test')
    const { id, origin } = await tracer.startActiveSpan('request', async (span) => {
      const produced = await queue.produce('order.close', { n: 1 }, { delay: 1, ttl: '1h' })
      span.end()
      return { id: produced, origin: span.spanContext() }
    })
    await queue.start()
    await expect.poll(() => spans('process order.close').length, { timeout: 60_000 }).toBe(2)
    const sent = await onlySpan('send order.close')
    expect(sent.kind).toBe(SpanKind.PRODUCER)
    expect(sent.spanContext().traceId).toBe(origin.traceId)
    expect(sent.parentSpanContext?.spanId).toBe(origin.spanId)
    expect(sent.attributes).toEqual({
      'messaging.system': 'punctual',
      'messaging.operation.name': 'send',
      'messaging.operation.type': 'send',
      'messaging.destination.name': 'order.close',
      'messaging.message.id': id,
      'punctual.queue': 'default',
    })
    const [first, second] = spans('process order.close')
    for (const [i, span] of [first, second].entries()) {
      expect(span?.kind).toBe(SpanKind.CONSUMER)
      expect(span?.parentSpanContext).toBeUndefined()
      expect(span?.spanContext().traceId).not.toBe(origin.traceId)
      expect(span?.links.map(({ context: { traceId, spanId } }: Link) => ({ traceId, spanId }))).toEqual([
        { traceId: sent.spanContext().traceId, spanId: sent.spanContext().spanId },
      ])
      expect(span?.attributes).toMatchObject({
        'messaging.system': 'punctual',
        'messaging.operation.type': 'process',
        'messaging.destination.name': 'order.close',
        'messaging.message.id': id,
        'punctual.queue': 'default',
        'punctual.attempt': i + 1,
      })
      expect(span?.attributes['punctual.lateness_ms']).toBeGreaterThanOrEqual(0)
    }
    expect(first?.status).toEqual({ code: SpanStatusCode.ERROR, message: 'not yet' })
    expect(first?.attributes['error.type']).toBe('TypeError')
    expect(first?.events.map(({ name }) => name)).toEqual(['exception'])
    expect(second?.status.code).toBe(SpanStatusCode.UNSET)
  })
})

describe('tracing', () => {
  it('what a handler does is inside its span, and its follow-up is linked to it', async () => {
    const queue = makeQueue()
    queue.handle('first', async ({ followUp }) => {
      await trace.getTracer('test').startActiveSpan('inside', async (span) => span.end())
      await followUp('second', 1)
    })
    queue.handle('second', () => undefined)
    await queue.start()
    await queue.produce('first', 1)
    const second = await onlySpan('process second')
    const first = await onlySpan('process first')
    expect((await onlySpan('inside')).parentSpanContext?.spanId).toBe(first.spanContext().spanId)
    expect(second.links.map(({ context: { spanId } }) => spanId)).toEqual([first.spanContext().spanId])
    expect(second.spanContext().traceId).not.toBe(first.spanContext().traceId)
  })

  it('many that are produced together share one span', async () => {
    const queue = makeQueue()
    queue.handle('a', () => undefined)
    queue.handle('b', () => undefined)
    await queue.start()
    await queue.produceMany([{ topic: 'a' }, { topic: 'a' }])
    await queue.produceMany([{ topic: 'a' }, { topic: 'b' }])
    await expect.poll(() => spans('process a').length, { timeout: 60_000 }).toBe(3)
    const one = await onlySpan('send a')
    expect(one.attributes['messaging.batch.message_count']).toBe(2)
    const several = await onlySpan('send')
    expect(several.attributes['messaging.destination.name']).toBeUndefined()
    const { links } = await onlySpan('process b')
    expect(links.map(({ context: { spanId } }) => spanId)).toEqual([several.spanContext().spanId])
  })

  it('a refused message is a failed span; a snooze is none', async () => {
    const queue = makeQueue()
    await expect(queue.produce('t', 1n)).rejects.toMatchObject({ code: 'PAYLOAD_UNSERIALISABLE' })
    expect((await onlySpan('send t')).status.code).toBe(SpanStatusCode.ERROR)
    let isTired = true
    queue.handle('nap', async () => {
      if (!isTired) return
      isTired = false
      throw new Snooze(1)
    })
    await queue.start()
    await queue.produce('nap', 1)
    await expect.poll(() => spans('process nap').length, { timeout: 60_000 }).toBe(2)
    const [first] = spans('process nap')
    expect([first?.status.code, first?.attributes['punctual.snoozed_ms']]).toEqual([SpanStatusCode.UNSET, 1])
  })

  it('a trace that is not sampled and has a state is carried as it is', async () => {
    const queue = makeQueue()
    const origin = {
      traceId: 'a'.repeat(32),
      spanId: 'b'.repeat(16),
      traceFlags: 0,
      isRemote: true,
    }
    const seen: unknown[] = []
    queue.handle('t', () => void seen.push(trace.getActiveSpan()?.isRecording()))
    await queue.start()
    const active = trace.setSpanContext(context.active(), origin)
    await context.with(active, () => queue.produce('t', 1))
    // The producer is not sampled, the attempt begins anew and is.
    const { links } = await onlySpan('process t')
    expect(links.map(({ context: { traceId, traceFlags } }) => [traceId, traceFlags])).toEqual([
      [origin.traceId, 0],
    ])
    expect(seen).toEqual([true])
    expect(exporter.getFinishedSpans().filter(({ kind }) => kind === SpanKind.PRODUCER)).toEqual([])
  })

  it('off where it is switched off', async () => {
    const queue = makeQueue({ store: 'memory:', tracing: false })
    const done = new Promise<void>((resolve) => queue.handle('t', () => resolve()))
    await queue.start()
    await queue.produce('t', 1)
    await done
    await queue.stop()
    expect(exporter.getFinishedSpans()).toEqual([])
    expect(() => new Punctual({ tracing: 'yes' as never })).toThrow(/tracing is "yes"; give true or false/)
  })

  it('over HTTP: traceparent goes in with the message and out with its lease', async () => {
    const { call } = await makeStand({}, { store: 'memory:', tracing: false })
    const traceparent = `00-${'c'.repeat(32)}-${'d'.repeat(16)}-01`
    const body = { topic: 't', payload: 1, ttl: '1h' }
    for (const headers of [{ traceparent, tracestate: 'shop=42' }, { traceparent: 'nonsense' }, {}])
      expect((await call('POST', `${QUEUE}/messages`, body, { headers })).status).toBe(201)
    const batch = await call('POST', `${QUEUE}/messages:batch`, [body], { headers: { traceparent } })
    expect(batch.status).toBe(200)
    const found: unknown[] = []
    while (found.length < 4) {
      const { json } = await call('POST', `${QUEUE}/leases`, { topics: ['t'], limit: 10, wait: '10s' })
      for (const { traceparent: parent, tracestate: state } of json.leases as unknown as Record<
        string,
        unknown
      >[])
        found.push([parent, state])
    }
    expect(found).toEqual([
      [traceparent, 'shop=42'],
      [undefined, undefined],
      [undefined, undefined],
      [traceparent, undefined],
    ])
  })
})
