import fc from 'fast-check'
import { expect, it } from 'vitest'
import { decodeCursor, encodeCursor } from '../../src/core/encoding/cursor.ts'

it('what went in comes out, whatever the parts are', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme' }), { minLength: 1, maxLength: 5 }), (parts) => {
      const cursor = encodeCursor(parts)
      expect(cursor).toMatch(/^[\w-]+$/) // Needs no quotes in a shell, and no escapes in a URL.
      expect(
        decodeCursor(
          cursor,
          parts.map(() => /^/),
        ),
      ).toEqual(parts)
    }),
  )
})

it.each([
  ['no cursor at all', 'rubbish'],
  ['an empty text', ''],
  ['too few parts', encodeCursor(['dead'])],
  ['too many parts', encodeCursor(['dead', '1', '2'])],
  ['a part that does not fit', encodeCursor(['dead', 'one'])],
  ['a part that is no text', Buffer.from('["dead",1]').toString('base64url')],
])('%s is refused', (_name, cursor) => {
  expect(() => decodeCursor(cursor, [/^dead$/, /^\d+$/])).toThrow(
    expect.objectContaining({ name: 'UsageError', code: 'CURSOR_INVALID', value: cursor }),
  )
})
