/** Words that need two readings, and are not to come back: in the source, in what it says, and in the docs. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ROOT, filesBelow } from './files.ts'

const PLACES = /^(?:src|docs|examples|scripts|site)\/|^[A-Z]+\.md$/
const TEXT = /\.(?:tsx?|mts|mjs|md|lua|sql|yml|css|html|vue)$/
/** Records are not rewritten; what is made of the source is found there. */
const LEFT_OUT = /^docs\/decisions\/|^docs\/api-\w+\.md$/

/** Each with what says it better. */
const WORDS: readonly (readonly [word: RegExp, instead: string])[] = [
  [/\b[Nn]obody\b/, 'name who does not: "no worker", or "is not read"'],
  [/\bwhoever\b/i, 'name who does: "the worker that", "its holder"'],
  [/\bmend(?:s|ed|ing)?\b/i, 'fix; or: passes by waiting'],
  [/\bfor ever\b/i, 'without end'],
  [/\bno chance\b/i, 'does not come about by chance'],
  [/\bto be had\b/i, 'comes, is there'],
]

const files = filesBelow('')
  .filter((path) => PLACES.test(path) && TEXT.test(path) && !LEFT_OUT.test(path))
  .map((path) => [path, oneLine(readFileSync(join(ROOT, path), 'utf8'))] as const)

/** Sentences go on from line to line. */
function oneLine(text: string): string {
  return text.replaceAll(/\s*\n\s*(?:\*(?!\/)|\/\/|--)?\s*/g, ' ')
}

it.each(WORDS)('%s: %s', (word) => {
  const found = files.flatMap(([path, text]) =>
    [...text.matchAll(new RegExp(word, `${word.flags}g`))].map(
      ({ index }) => `${path}: …${text.slice(Math.max(0, index - 60), index + 30)}…`,
    ),
  )
  expect(found).toEqual([])
})
