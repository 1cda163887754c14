import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodePayload, decodePolicy, encodePayload, encodePolicy } from '../../src/core/encoding/codec.ts'

const MAX = 1024

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
