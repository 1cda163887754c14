/** How many columns a text takes on a terminal, and how to cut it to fit. Colours take none. */

// oxlint-disable-next-line no-control-regex
const COLOUR = /(\u001B\[[\d;]*m)/
const WIDE =
  /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\uFF01-\uFF60]/u
// Most text is this, and needs no closer look. Blocks and lines are what bars are made of.
const NARROW = /^[\x20-\x7E\u2010-\u2027\u2500-\u259F]*$/
const COLOUR_OFF = '\u001B[0m'

const segmenter = new Intl.Segmenter()

export function widthOf(text: string): number {
  return text.split(COLOUR).reduce((sum, part) => sum + (isColour(part) ? 0 : plainWidth(part)), 0)
}

/** At most `width` columns; what was cut is marked with a dot-dot-dot. */
export function clip(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  let shown = ''
  let left = width - 1
  for (const part of text.split(COLOUR)) {
    const kept = isColour(part) ? part : take(part, left)
    shown += kept
    if (!isColour(part)) left -= plainWidth(kept)
    if (kept.length < part.length) break
  }
  return `${shown}…${text.includes(COLOUR_OFF.slice(0, 2)) ? COLOUR_OFF : ''}`
}

/** Broken between words into lines of at most `width` columns; a longer word has a line of its own. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`
    if (line !== '' && widthOf(longer) > width) {
      lines.push(line)
      line = word
    } else line = longer
  }
  return [...lines, line]
}

function isColour(part: string): boolean {
  return part.startsWith('\u001B')
}

function plainWidth(text: string): number {
  return NARROW.test(text)
    ? text.length
    : graphemes(text).reduce((sum, grapheme) => sum + cellsOf(grapheme), 0)
}

function take(text: string, width: number): string {
  let taken = ''
  let left = width
  for (const grapheme of graphemes(text)) {
    left -= cellsOf(grapheme)
    if (left < 0) break
    taken += grapheme
  }
  return taken
}

function cellsOf(grapheme: string): number {
  return WIDE.test(grapheme) ? 2 : 1
}

function graphemes(text: string): string[] {
  return Array.from(segmenter.segment(text), ({ segment }) => segment)
}
