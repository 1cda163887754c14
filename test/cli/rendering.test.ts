/** The parts that draw and read, without a process around them. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bar, sparkline } from '../../src/doors/cli/terminal/format.ts'
import { nextStart, startOf, UNITS } from '../../src/doors/shared/calendar.ts'
import { Tally } from '../../src/doors/cli/demo/tally.ts'
import { renderFrame } from '../../src/doors/cli/demo/view.ts'
import { formatSpan } from '../../src/doors/cli/terminal/format.ts'
import { formatMoment, parseMomentText } from '../../src/doors/shared/moment.ts'
import { COLOURED, PLAIN, styleFor } from '../../src/doors/cli/terminal/style.ts'
import { clip, widthOf, wrap } from '../../src/doors/cli/terminal/width.ts'
import { splitWords } from '../../src/doors/cli/work/words.ts'

const YEAR_3000 = 32_503_680_000_000

describe('moments', () => {
  it('what is shown can be read back, to the millisecond', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: YEAR_3000 }),
        (at) => parseMomentText(formatMoment(at), '--at') === at,
      ),
    )
  })

  it('units follow one another without a gap', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: YEAR_3000 }), fc.constantFrom(...UNITS), (at, unit) => {
        const start = startOf(at, unit)
        expect(start).toBeLessThanOrEqual(at)
        expect(nextStart(start, unit)).toBeGreaterThan(at)
      }),
    )
  })
})

describe('spans', () => {
  it.each([
    [0.4213, '0.42 ms'],
    [12.34, '12.3 ms'],
    [999.7, '1.00 s'],
    [1_250, '1.25 s'],
    [59_990, '1m'],
    [90_000, '1m 30s'],
    [3_599_900, '1h'],
    [90 * 60_000, '1h 30m'],
    [52 * 3_600_000, '2d 4h'],
    [-1_250, '-1.25 s'],
  ])('%d ms is %s', (ms, text) => expect(formatSpan(ms)).toBe(text))
})

describe('widths', () => {
  it('colours take no columns, wide letters two', () => {
    expect(widthOf(COLOURED.red('abc'))).toBe(3)
    expect(widthOf('日本')).toBe(4)
    expect(widthOf('👩‍👩‍👧')).toBe(2)
    expect(clip(COLOURED.red('abcdef'), 4)).toBe('\u001B[31mabc…\u001B[0m')
    expect(clip('日本語', 4)).toBe('日…')
  })

  it('what is clipped fits, whatever it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 20 }), (text, width) => {
        expect(widthOf(clip(text, width))).toBeLessThanOrEqual(width)
      }),
    )
  })

  it('what is wrapped keeps its words, and breaks only between them', () => {
    expect(wrap('one two three', 7)).toEqual(['one two', 'three'])
    fc.assert(
      fc.property(fc.lorem({ maxCount: 30 }), fc.integer({ min: 1, max: 40 }), (text, width) => {
        const lines = wrap(text, width)
        expect(lines.join(' ')).toBe(text)
        for (const line of lines) expect(widthOf(line) <= width || !line.includes(' ')).toBe(true)
      }),
    )
  })

  it('bars: something is never nothing, and nothing never something', () => {
    expect(bar(0, 10, 10)).toBe('')
    expect(bar(1, 1_000_000, 10)).toBe('▏')
    expect(bar(10, 10, 10)).toBe('██████████')
    expect(sparkline([0, 1, 4, 8])).toBe(' ▁▄█')
  })
})

describe('colours', () => {
  it('only on a terminal, and not against its owner’s will', () => {
    expect(styleFor({ isTerminal: true, env: {} })).toBe(COLOURED)
    expect(styleFor({ isTerminal: false, env: {} })).toBe(PLAIN)
    expect(styleFor({ isTerminal: true, env: { NO_COLOR: '1' } })).toBe(PLAIN)
    expect(styleFor({ isTerminal: true, env: { TERM: 'dumb' } })).toBe(PLAIN)
  })
})

describe('words of a command', () => {
  it.each([
    ['a b  c', ['a', 'b', 'c']],
    [`a 'b c' "d e"`, ['a', 'b c', 'd e']],
    [`a=b"c d"'e f'\\ g`, ['a=bc de f g']],
    [`"say \\"hi\\"" '' ""`, ['say "hi"', '', '']],
    ['$HOME; rm -rf `x` | y > z', ['$HOME;', 'rm', '-rf', '`x`', '|', 'y', '>', 'z']],
    ['  ', []],
  ])('%s', (text, words) => expect(splitWords(text)).toEqual(words))

  it('a quote that does not end is refused', () => {
    expect(() => splitWords(`a 'b`)).toThrow('has a quote that does not end')
  })
})

describe('the demo’s picture', () => {
  const START = Date.UTC(2030, 0, 1)

  function makeTally(): Tally {
    const tally = new Tally(START)
    for (const seconds of [5, 4, 3, 2, 1]) {
      tally.expect({
        id: `order-${seconds}`,
        topic: 'demo.order',
        payload: { seconds },
        state: 'delayed',
        priority: 'normal',
        dueAt: START + seconds * 1_000,
        firstDueAt: START + seconds * 1_000,
        attempt: 0,
        lapses: 0,
      })
    }
    return tally
  }

  it('fits the terminal, however narrow, and shows what arrived in its order', () => {
    const tally = makeTally()
    tally.arrive({ id: 'order-1', latenessMs: 0.4, attempt: 1 })
    tally.arrive({ id: 'order-2', latenessMs: 70, attempt: 1 })
    const frame = {
      tally,
      now: START + 2_500,
      where: 'file:.punctual',
      notes: [],
      isOver: false,
      style: PLAIN,
    }
    const lines = renderFrame({ ...frame, columns: 100 })
    expect(lines.join('\n')).toMatch(/arrived {3}1 s {3}2 s {3}· {5}· {5}·/)
    expect(lines.join('\n')).toContain('2 of 5 arrived')
    expect(lines.join('\n')).toMatch(/p50 0\.40 ms {2}p99 70\.0 ms {2}max 70\.0 ms/)
    for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(100)
  })

  it('what was due before this run says nothing about lateness, and a second arrival is no arrival', () => {
    const tally = new Tally(START + 3_500)
    for (const [i, id] of ['a', 'b'].entries()) {
      const dueAt = START + i * 4_000
      tally.expect({
        id,
        topic: 't',
        payload: 1,
        state: 'ready',
        priority: 'normal',
        dueAt,
        firstDueAt: dueAt,
        attempt: 0,
        lapses: 0,
      })
    }
    tally.arrive({ id: 'a', latenessMs: 3_500, attempt: 1 })
    tally.arrive({ id: 'b', latenessMs: 1, attempt: 1 })
    tally.arrive({ id: 'b', latenessMs: 1, attempt: 2 })
    expect(tally).toMatchObject({ overdue: 1, arrived: 2, repeated: 1, isComplete: true })
    expect(tally.percentiles()).toEqual({ p50: 1, p99: 1, max: 1 })
  })
})
