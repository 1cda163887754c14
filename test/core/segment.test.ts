import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { nameOfSegment, segmentOf } from '../../src/core/encoding/segment.ts'

/** As a browser reads the address: what it sends is what is left of it. */
function arrived(name: string): string[] {
  return new URL(`http://localhost/v1/topics/${segmentOf(name)}/pause`).pathname.split('/').slice(1)
}

const names = fc.oneof(
  fc.string({ minLength: 1, unit: 'grapheme' }).filter((name) => name.isWellFormed()),
  fc.string({ minLength: 1, unit: fc.constantFrom('.', '~', '%', '2', 'E', '/') }),
)

describe('a name as a segment of an address', () => {
  it.each(['.', '..', '...', '~.', '~..', '~~..', '~', '%2e%2e', '%2E', 'a/../b', '../..', '日本 ?#'])(
    '%s arrives as one segment, and means itself',
    (name) => {
      const segments = arrived(name)
      expect(segments).toHaveLength(4)
      expect(nameOfSegment(segments[2] ?? '')).toBe(name)
    },
  )

  it('each name has one segment of its own, which no client takes out of the path', () => {
    fc.assert(
      fc.property(names, (name) => {
        const segments = arrived(name)
        expect([segments.length, nameOfSegment(segments[2] ?? '')]).toEqual([4, name])
      }),
      { numRuns: 2_000 },
    )
  })

  it('what needs no escape stays as it was', () => {
    for (const name of ['order.close', '~home', 'a..b', '.hidden']) expect(segmentOf(name)).toBe(name)
  })
})
