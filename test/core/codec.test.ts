import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodePayload, decodePolicy, encodePayload, encodePolicy } from '../../src/core/encoding/codec.ts'

const MAX = 1024

const deep = (value: unknown): unknown => ({ a: { b: { c: [{ d: value }] } } })

describe('payloads', () => {
  it('any JSON value comes back as it was', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const plain: unknown = JSON.parse(JSON.stringify(value))
        expect(decodePayload(encodePayload(value, 1e6))).toEqual(plain)
      }),
    )
    expect(decodePayload(encodePayload(undefined, MAX))).toBeUndefined()
    expect(decodePayload(encodePayload(null, MAX))).toBeNull()
    expect(decodePayload(encodePayload('', MAX))).toBe('')
  })

  it('refuses what JSON cannot carry', () => {
    const cycle: { self?: unknown } = {}
    cycle.self = cycle
    const hostile = {
      toJSON() {
        throw new Error('no')
      },
    }
    for (const value of [cycle, { n: 5n }, () => 1, Symbol('s'), hostile]) {
      expect(() => encodePayload(value, MAX)).toThrow(
        expect.objectContaining({ code: 'PAYLOAD_UNSERIALISABLE' }),
      )
    }
  })

  it('names the field that JSON would change without a word', () => {
    const cycle: Record<string, unknown> = {}
    cycle.list = [{ back: cycle }]
    class Query {
      // oxlint-disable-next-line unicorn/no-thenable
      then(): void {}
    }
    const cases: [unknown, string][] = [
      [Promise.resolve(1), 'payload is a Promise'],
      [{ order: Promise.resolve(1) }, 'payload.order is a Promise'],
      [deep(Promise.resolve(1)), 'payload.a.b.c[0].d is a Promise'],
      [{ rows: new Query() }, 'payload.rows is a promise'],
      [new Map([[1, 2]]), 'payload is a Map'],
      [{ 'the ids': new Set([1]) }, 'payload["the ids"] is a Set'],
      [{ a: new WeakMap() }, 'payload.a is a WeakMap'],
      [{ why: Object.assign(new TypeError('no'), { code: 5 }) }, 'payload.why is an Error'],
      [deep(new Error('no')), 'payload.a.b.c[0].d is an Error'],
      [[1, NaN], 'payload[1] is NaN'],
      [deep(-Infinity), 'payload.a.b.c[0].d is -Infinity'],
      [{ at: new Date('?') }, 'payload.at is an invalid date'],
      [{ done: { fn: () => 1 } }, 'payload.done.fn is a function'],
      [{ s: Symbol('s') }, 'payload.s is a symbol'],
      [{ bytes: new Uint8Array(3) }, 'payload.bytes is a Uint8Array'],
      [deep(5n), 'payload.a.b.c[0].d is a bigint'],
      [cycle, 'payload.list[0].back is one of the objects around it'],
    ]
    for (const [value, text] of cases) {
      const refused = { code: 'PAYLOAD_UNSERIALISABLE', message: expect.stringContaining(text) as string }
      expect(() => encodePayload(value, MAX), text).toThrow(expect.objectContaining(refused))
    }
  })

  it('takes what JSON carries, or what says itself how to be written', () => {
    const shared = { x: 1 }
    class Order {
      readonly id = 1
      close(): void {}
    }
    const cases: [unknown, unknown][] = [
      [new Order(), { id: 1 }],
      [
        { a: shared, b: [shared, shared] },
        { a: { x: 1 }, b: [{ x: 1 }, { x: 1 }] },
      ],
      [
        { none: undefined, list: [undefined], empty: {}, null: null },
        { list: [null], empty: {}, null: null },
      ],
      [
        { at: new Date(0), url: new URL('http://a.b/') },
        { at: '1970-01-01T00:00:00.000Z', url: 'http://a.b/' },
      ],
      [{ run: () => 1, toJSON: () => 'mine' }, 'mine'],
      [Buffer.from('a'), { type: 'Buffer', data: [97] }],
      [Object.assign(Object.create(null) as object, { a: 1 }), { a: 1 }],
    ]
    for (const [value, read] of cases) expect(decodePayload(encodePayload(value, MAX))).toEqual(read)
  })

  it('measures bytes, not characters', () => {
    expect(encodePayload('x'.repeat(MAX - 2), MAX)).toHaveLength(MAX)
    for (const value of ['x'.repeat(MAX - 1), 'é'.repeat(MAX / 2), '🕰'.repeat(MAX / 4)]) {
      expect(() => encodePayload(value, MAX)).toThrow(expect.objectContaining({ code: 'PAYLOAD_TOO_LARGE' }))
    }
  })
})

describe('the policy of a message', () => {
  it('costs nothing when there is none', () => {
    expect(encodePolicy({})).toBe('')
    expect(decodePolicy('')).toEqual({})
  })

  it('comes back as it was', () => {
    const policy = { ttlMs: 5, timeoutMs: 7, retry: { limit: 2, waits: [1, 2] } }
    expect(decodePolicy(encodePolicy(policy))).toEqual(policy)
  })
})
