import fc from 'fast-check'
import { expect, test } from 'vitest'
import { INCOMPLETE, ReplyParser } from '../../../src/store/redis/link/parser.ts'
import { asciiBytes, encodeCommands } from '../../../src/store/redis/link/writer.ts'

type Command = readonly string[]

function encode(commands: readonly Command[]): Buffer[] {
  return encodeCommands(
    commands,
    commands.reduce((sum, command) => sum + asciiBytes(command), 0),
  )
}

/** As the protocol's own text says it. */
function plainly(commands: readonly Command[]): string {
  return commands
    .map(
      (parts) =>
        `*${parts.length}\r\n${parts.map((part) => `$${Buffer.byteLength(part)}\r\n${part}\r\n`).join('')}`,
    )
    .join('')
}

/** A command is a list of texts, so that our own parser reads it. */
function readBack(buffers: readonly Buffer[]): unknown[] {
  const parser = new ReplyParser()
  const found: unknown[] = []
  for (const buffer of buffers) {
    parser.add(buffer)
    for (let one = parser.next(); one !== INCOMPLETE; one = parser.next()) found.push(one)
  }
  return found
}

test('commands of any texts are written as the protocol says', () => {
  const part = fc.oneof(
    fc.string({ maxLength: 60 }),
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc.string({ unit: 'grapheme', maxLength: 30 }),
    fc.constantFrom('', '\r\n', '$1\r\na\r\n', 'x'.repeat(24), 'x'.repeat(25), `${'x'.repeat(23)}é`),
    // Half a surrogate pair is written as UTF-8 writes what it cannot.
    fc.constant('\ud800'),
  )
  const commands = fc.array(fc.array(part, { minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 6 })
  fc.assert(
    fc.property(commands, (some) => {
      expect(Buffer.concat(encode(some)).toString()).toBe(Buffer.from(plainly(some)).toString())
    }),
    { numRuns: 1000 },
  )
})

test.each([
  ['thousands of short arguments', [Array.from({ length: 5000 }, (_, i) => `argument-${i}`)]],
  ['thousands of commands', Array.from({ length: 5000 }, (_, i) => ['PING', String(i)])],
  [
    'texts that need three bytes for each character',
    [Array.from({ length: 500 }, (_, i) => `€${i}`.repeat(200))],
  ],
  ['an argument longer than any buffer', [['SET', 'key', 'é'.repeat(3_000_000)], ['PING']]],
  ['arguments around the size of a buffer', [[-1, 0, 1].map((more) => 'x'.repeat(1024 * 1024 + more))]],
  ['nothing', []],
])('%s', (_what, commands: readonly Command[]) => {
  const buffers = encode(commands)
  expect(readBack(buffers)).toEqual(commands)
  expect(Buffer.concat(buffers).equals(Buffer.from(plainly(commands)))).toBe(true)
})

test('ASCII needs one buffer, as long as was asked for', () => {
  const command = ['EVALSHA', 'a'.repeat(40), ...Array.from({ length: 1000 }, (_, i) => `id-${i}`)]
  expect(encode([command])).toHaveLength(1)
})
