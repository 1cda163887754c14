/** Reading replies: every type, cut at every byte, and bytes that no Redis would send. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  DEPTH_MAX,
  ErrorReply,
  INCOMPLETE,
  LINE_BYTES_MAX,
  ProtocolError,
  Push,
  ReplyParser,
  REPLY_BYTES_MAX,
} from '../../../src/store/redis/link/parser.ts'

/** What a stream holds: the replies, and `failed` where it became unreadable. */
function read(chunks: readonly Buffer[]): unknown[] {
  const parser = new ReplyParser()
  const found: unknown[] = []
  try {
    for (const chunk of chunks) {
      parser.add(chunk)
      for (let reply = parser.next(); reply !== INCOMPLETE; reply = parser.next()) found.push(reply)
    }
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error
    found.push('failed')
  }
  return found
}

const bytes = (text: string): Buffer => Buffer.from(text, 'utf8')

function cutAt(data: Buffer, cuts: readonly number[]): Buffer[] {
  const edges = [0, ...cuts.map((cut) => cut % (data.length + 1)), data.length].toSorted((a, b) => a - b)
  return edges.slice(1).map((edge, i) => data.subarray(edges[i], edge))
}

const inSingleBytes = (data: Buffer): Buffer[] => Array.from(data, (_, i) => data.subarray(i, i + 1))

describe('each type', () => {
  const CASES: readonly [text: string, value: unknown][] = [
    ['+OK\r\n', 'OK'],
    ['+\r\n', ''],
    ['-ERR no\r\n', new ErrorReply('ERR no')],
    ['!6\r\nOOM no\r\n', new ErrorReply('OOM no')],
    [':42\r\n', 42],
    [':-7\r\n', -7],
    [':0\r\n', 0],
    [':9007199254740991\r\n', 2 ** 53 - 1],
    [':9223372036854775807\r\n', '9223372036854775807'],
    [':-9223372036854775808\r\n', '-9223372036854775808'],
    ['$0\r\n\r\n', ''],
    ['$8\r\nline\r\nend'.replace('8', '9') + '\r\n', 'line\r\nend'],
    ['$6\r\n€é!\r\n', '€é!'],
    ['$-1\r\n', null],
    ['*-1\r\n', null],
    ['_\r\n', null],
    ['*0\r\n', []],
    ['*3\r\n:1\r\n$1\r\na\r\n*1\r\n_\r\n', [1, 'a', [null]]],
    ['*1\r\n-ERR inside\r\n', [new ErrorReply('ERR inside')]],
    // As RESP2 would give it.
    ['%2\r\n$1\r\na\r\n:1\r\n+b\r\n*0\r\n', ['a', 1, 'b', []]],
    ['~2\r\n:1\r\n:2\r\n', [1, 2]],
    [',1.5\r\n', '1.5'],
    [',-inf\r\n', '-inf'],
    ['(3492890328409238509324850943850943825024385\r\n', '3492890328409238509324850943850943825024385'],
    ['#t\r\n', 1],
    ['#f\r\n', 0],
    ['=8\r\ntxt:info\r\n', 'info'],
    ['|1\r\n+ttl\r\n:3600\r\n*1\r\n|1\r\n+a\r\n+b\r\n:5\r\n', [5]],
    ['>3\r\n+message\r\n+channel\r\n$2\r\nhi\r\n', new Push(['message', 'channel', 'hi'])],
  ]
  test.each(CASES)('%j', (text, value) => {
    const data = bytes(text)
    expect(read([data])).toEqual([value])
    expect(read(inSingleBytes(data))).toEqual([value])
    for (let cut = 0; cut <= data.length; cut += 1) expect(read(cutAt(data, [cut]))).toEqual([value])
    // None of it is a reply before the last byte.
    for (let end = 0; end < data.length; end += 1) expect(read([data.subarray(0, end)])).toEqual([])
  })
})

describe('what does not fit is an error at once', () => {
  test.each([
    ['HTTP/1.1 400 Bad Request\r\n'],
    ['OK\r\n'],
    ['\r\n'],
    [':12x\r\n'],
    [':\r\n'],
    [':-\r\n'],
    [':1\n'],
    [':1\rx'],
    ['+OK\rx'],
    ['$3\r\nabcd\r\n'],
    ['$3\r\nabc\n\n'],
    ['$3\r\nabc\rx'],
    ['$-2\r\n'],
    ['$x\r\n'],
    ['$?\r\n'],
    ['*?\r\n'],
    ['*-2\r\n'],
    [`$${REPLY_BYTES_MAX + 1}\r\n`],
    [`*${REPLY_BYTES_MAX + 1}\r\n`],
    [`:${'1'.repeat(21)}`],
    [`+${'x'.repeat(LINE_BYTES_MAX + 1)}`],
    ['*1\r\n'.repeat(DEPTH_MAX + 1)],
    ['*1\r\n>1\r\n'],
    ['_x\r\n'],
    ['#x\r\n'],
    [',1.2.3\r\n'],
    ['(12a\r\n'],
  ])('%j', (text) => {
    const data = bytes(text)
    expect(read([data])).toEqual(['failed'])
    expect(read(inSingleBytes(data))).toEqual(['failed'])
  })

  test('what came before it is handed out', () => {
    expect(read([bytes('+OK\r\n:1\r\ngarbage\r\n:2\r\n')])).toEqual(['OK', 1, 'failed'])
  })

  test('the text of the error repeats no bytes: they may be an echo of a password', () => {
    const parser = new ReplyParser()
    parser.add(bytes('secret\r\n'))
    expect(() => parser.next()).toThrow(/^(?!.*secret)/s)
  })
})

describe('limits', () => {
  test.each(['$10000\r\n', '*10000\r\n'])(
    'P10: a reply that begins with %j and never ends is given up',
    (begin) => {
      const parser = new ReplyParser(10_000)
      parser.add(bytes(`*2\r\n${begin}`))
      const feed = (): void => {
        for (let i = 0; i < 11; i += 1) {
          expect(parser.next()).toBe(INCOMPLETE)
          parser.add(bytes('$992\r\n'.padEnd(1000 - 2, 'x') + '\r\n'))
        }
      }
      expect(feed).toThrow(new ProtocolError('a reply has more than 10000 bytes'))
    },
  )

  test('P10: what is announced takes no memory before it arrives', () => {
    const before = process.memoryUsage().arrayBuffers
    const parsers = Array.from({ length: 20 }, () => new ReplyParser())
    for (const parser of parsers) {
      parser.add(bytes(`*${REPLY_BYTES_MAX}\r\n$${REPLY_BYTES_MAX}\r\nabc`))
      expect(parser.next()).toBe(INCOMPLETE)
    }
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(100 * 1024 * 1024)
  })

  test('many replies on one connection add up to nothing', () => {
    const parser = new ReplyParser(10_000)
    const reply = bytes(`$900\r\n${'x'.repeat(900)}\r\n`)
    for (let i = 0; i < 25; i += 1) {
      parser.add(reply)
      expect(parser.next()).toHaveLength(900)
      expect(parser.next()).toBe(INCOMPLETE)
    }
  })

  test('a long text in small pieces is whole', () => {
    const text = 'äb'.repeat(1_000_000)
    const data = bytes(`*2\r\n$${Buffer.byteLength(text)}\r\n${text}\r\n:1\r\n`)
    const pieces = Array.from({ length: Math.ceil(data.length / 1000) }, (_, i) =>
      data.subarray(i * 1000, (i + 1) * 1000),
    )
    expect(read(pieces)).toEqual([[text, 1]])
  })
})

function sized(type: string, body: string): string {
  return `${type}${Buffer.byteLength(body)}\r\n${body}\r\n`
}

describe('any bytes', () => {
  const line = fc.string({ unit: 'grapheme', maxLength: 12 }).map((text) => text.replaceAll(/[\r\n]/g, ' '))
  const text = fc.string({ unit: 'binary', maxLength: 40 }).map((one) => one.toWellFormed())
  const { reply } = fc.letrec<{ reply: string }>((tie) => ({
    reply: fc.oneof(
      { maxDepth: 5 },
      line.map((one) => `+${one}\r\n`),
      line.map((one) => `-ERR ${one}\r\n`),
      fc.maxSafeInteger().map((value) => `:${value}\r\n`),
      text.map((one) => sized('$', one)),
      text.map((one) => sized('=', `txt:${one}`)),
      text.map((one) => sized('!', one)),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => `,${value}\r\n`),
      fc.bigInt().map((value) => `(${value}\r\n`),
      fc.constantFrom('_\r\n', '#t\r\n', '#f\r\n', '$-1\r\n', '*-1\r\n'),
      fc.array(tie('reply'), { maxLength: 5 }).map((list) => `*${list.length}\r\n${list.join('')}`),
      fc.array(tie('reply'), { maxLength: 5 }).map((list) => `~${list.length}\r\n${list.join('')}`),
      fc
        .array(fc.tuple(tie('reply'), tie('reply')), { maxLength: 3 })
        .map((pairs) => `%${pairs.length}\r\n${pairs.flat().join('')}`),
      fc.tuple(tie('reply'), tie('reply'), tie('reply')).map(([a, b, c]) => `|1\r\n${a}${b}${c}`),
    ),
  }))
  const stream = fc.array(reply, { minLength: 1, maxLength: 4 })
  const cuts = fc.array(fc.nat(), { maxLength: 8 })

  test('replies are the same however they were cut', () => {
    fc.assert(
      fc.property(stream, cuts, (replies, where) => {
        const data = bytes(replies.join(''))
        const whole = read([data])
        expect(whole).toHaveLength(replies.length)
        expect(whole).not.toContain('failed')
        expect(read(cutAt(data, where))).toEqual(whole)
        expect(read(inSingleBytes(data))).toEqual(whole)
      }),
      { numRuns: 500 },
    )
  })

  test('every single cut of a stream', () => {
    fc.assert(
      fc.property(stream, (replies) => {
        const data = bytes(replies.join(''))
        const whole = read([data])
        for (let cut = 1; cut < data.length; cut += 1) expect(read(cutAt(data, [cut]))).toEqual(whole)
      }),
      { numRuns: 60 },
    )
  })

  const garbage = fc.oneof(
    fc.uint8Array({ maxLength: 60 }),
    fc
      .array(fc.constantFrom(...Array.from('+-:$*_,#!=(%~>|0123456789\r\nab')), { maxLength: 60 })
      .map((one) => bytes(one.join(''))),
    // A whole stream with one byte changed, taken away or added.
    fc.tuple(stream, fc.nat(), fc.nat(255), fc.nat(2)).map(([replies, at, byte, kind]) => {
      const data = bytes(replies.join(''))
      const place = at % data.length
      const middle = kind === 0 ? [byte] : kind === 1 ? [] : [byte, data[place] as number]
      return Buffer.concat([data.subarray(0, place), Buffer.from(middle), data.subarray(place + 1)])
    }),
  )

  test('garbage is an error or waits for more, the same however it was cut, and nothing else', () => {
    fc.assert(
      fc.property(garbage, cuts, (some, where) => {
        const data = Buffer.from(some)
        const whole = read([data])
        expect(read(cutAt(data, where))).toEqual(whole)
        expect(read(inSingleBytes(data))).toEqual(whole)
      }),
      { numRuns: 3000 },
    )
  })
})
