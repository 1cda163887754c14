/** What the bridge reads and writes, without a broker: options, headers, ids, and the envelope in the store. */
import type { ConsumeMessage } from 'amqplib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseDuration } from '../../../src/core/input/duration.ts'
import { bodyOf, isEnvelope, wrap } from '../../../src/doors/amqp/message/envelope.ts'
import { restoreProperties, storeHeaders } from '../../../src/doors/amqp/message/properties.ts'
import { idOf, parsePublish } from '../../../src/doors/amqp/message/request.ts'
import { parseBridgeOptions } from '../../../src/doors/amqp/options.ts'
import { brokerError } from '../../../src/doors/amqp/wire/failure.ts'

const NOW = 1_800_000_000_000

function message(content: Buffer): ConsumeMessage {
  return { content, fields: { routingKey: 'k' }, properties: { headers: {} } } as unknown as ConsumeMessage
}

describe('options', () => {
  const url = 'amqp://localhost'
  it.each([
    [{}, 'BROKER_URL_INVALID'],
    [{ url: 'amqp:' }, 'BROKER_URL_INVALID'],
    [{ url: 'http://localhost' }, 'BROKER_URL_INVALID'],
    [{ url, speed: 1 }, 'OPTION_UNKNOWN'],
    [{ url, routes: [] }, 'OPTION_INVALID'],
    [{ url, routes: [{ from: 'a' }] }, 'OPTION_INVALID'],
    [{ url, routes: [{ from: 'a', to: 'a' }] }, 'OPTION_INVALID'],
    [{ url, routes: [{ from: 'amq.topic', to: 'a' }] }, 'OPTION_INVALID'],
    [
      {
        url,
        routes: [
          { from: 'a', to: 'b' },
          { from: 'a', to: 'c' },
        ],
      },
      'OPTION_INVALID',
    ],
    [{ url, routes: [{ from: 'a', to: 'b', via: 'c' }] }, 'OPTION_UNKNOWN'],
    [{ url, prefetch: 0 }, 'OPTION_INVALID'],
    [{ url, concurrency: 0.5 }, 'OPTION_INVALID'],
    [{ url, heartbeat: '10ms' }, 'OPTION_INVALID'],
    [{ url, retry: { limit: -1 } }, 'OPTION_INVALID'],
    [{ url, tls: 'yes' }, 'OPTION_INVALID'],
    [{ url, management: 'localhost' }, 'OPTION_INVALID'],
    [{ url, onEvent: 'log' }, 'OPTION_INVALID'],
  ])('%j is refused with a code', (options, code) => {
    expect(() => parseBridgeOptions(options)).toThrow(expect.objectContaining({ code }))
  })

  it('a password is shown nowhere', () => {
    const secret = 'amqp://ada:hunter2@localhost/vhost'
    expect(parseBridgeOptions({ url: secret }).urlShown).not.toContain('hunter2')
    const error = brokerError(new Error('x'), parseBridgeOptions({ url: secret }).urlShown, 'connecting')
    expect(error.message).not.toContain('hunter2')
    for (const bad of ['http://ada:hunter2@localhost', 'ada:hunter2@localhost']) {
      expect(() => parseBridgeOptions({ url: bad })).toThrow(
        expect.objectContaining({ message: expect.not.stringContaining('hunter2') as unknown }),
      )
    }
  })
})

describe('what a publisher asks for', () => {
  const ask = (headers: object, messageId?: string) =>
    parsePublish({ headers, messageId } as unknown as ConsumeMessage['properties'], NOW)

  it.each([
    [{}, { delay: '0ms' }],
    [{ 'x-delay': 0 }, { delay: '0ms' }],
    [{ 'x-delay': 1.2 }, { delay: '2ms' }],
    [{ 'x-delay': -5000 }, { delay: '0ms' }],
    [{ 'x-delay': '5000' }, { delay: '5000ms' }],
    [{ 'x-opt-delivery-delay': 7 }, { delay: '7ms' }],
    [{ 'x-opt-delivery-time': NOW + 1 }, { at: NOW + 1 }],
    [{ 'x-opt-delivery-time': 0 }, { at: 0 }],
    [{ 'x-opt-delivery-time': { '!': 'timestamp', value: NOW / 1000 } }, { at: NOW }],
  ])('%j is %j', (headers, when) => {
    expect(ask(headers).when).toEqual(when)
  })

  it('fifty years to the millisecond', () => {
    const delay = 50 * 365 * 86_400_000 + 1
    const { when } = ask({ 'x-delay': delay })
    expect(when).toEqual({ delay: `${delay}ms` })
    expect(parseDuration('delay' in when ? when.delay : 0, 'delay')).toBe(delay)
  })

  it('any header at all is followed or refused with HEADER_INVALID', () => {
    const name = fc.constantFrom(
      'x-delay',
      'x-opt-delivery-delay',
      'x-opt-delivery-time',
      'x-if-exists',
      'x-key',
    )
    fc.assert(
      fc.property(
        fc.dictionary(name, fc.anything()),
        fc.option(fc.string(), { nil: undefined }),
        (headers, id) => {
          try {
            const { when } = ask(headers, id)
            const ms = 'at' in when ? when.at : Number.parseInt(when.delay, 10)
            expect(Number.isSafeInteger(ms) && ms >= 0).toBe(true)
          } catch (error) {
            expect(error).toMatchObject({ code: 'HEADER_INVALID' })
          }
        },
      ),
    )
  })

  it('a message_id is an id, or its hash where it cannot be one; different ones stay different', () => {
    expect(idOf('order-42')).toBe('order-42')
    const long = ['a', 'b'].map((end) => idOf('x'.repeat(201) + end))
    expect(new Set(long).size).toBe(2)
    for (const id of [...long, idOf('line\nbreak'), idOf('..')]) expect(id).toMatch(/^sha256:[\w-]{43}$/)
  })
})

describe('the envelope', () => {
  it('any body comes out of the store as it went in', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const stored: unknown = JSON.parse(JSON.stringify(wrap(message(Buffer.from(bytes)))))
        expect(isEnvelope(stored) && bodyOf(stored).equals(Buffer.from(bytes))).toBe(true)
      }),
    )
  })

  it('text is kept as text, so that people can read it', () => {
    expect(wrap(message(Buffer.from('{"grüße":1}\n')))).toMatchObject({ text: '{"grüße":1}\n' })
    expect(wrap(message(Buffer.from([0])))).toMatchObject({ base64: 'AA==' })
  })

  it('numbers in headers keep their value, whatever it is, or are refused', () => {
    fc.assert(
      fc.property(fc.oneof(fc.double(), fc.integer(), fc.maxSafeInteger()), (n) => {
        let stored: ReturnType<typeof storeHeaders>
        try {
          stored = JSON.parse(JSON.stringify(storeHeaders({ n }))) as typeof stored
        } catch (error) {
          expect(error).toMatchObject({ code: 'HEADER_INVALID' })
          expect(Number.isSafeInteger(n)).toBe(false)
          return
        }
        const restored = restoreProperties({}, stored).headers as { n: { value: number } }
        expect(restored.n.value === n || Number.isNaN(n)).toBe(true)
      }),
    )
  })
})
