/**
 * MySQL itself cannot be had where these tests run, so its statements are read instead: words that only MariaDB knows may
 * stand in the named list of settings for MariaDB, and nowhere else. The list is from MySQL's documentation of what it
 * does not have, and from MariaDB's of what it added.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../../src/store/mysql')
const WORDS = [
  /\breturning\b/i,
  /\bidle_(write_|readonly_)?transaction_timeout\b/i,
  /\b(create|drop|alter)\s+or\s+replace\b/i,
  /\bcreate or replace table\b/i,
  /\b(create\s+)?sequence\b/i,
  /\bnext(val| value for)\b/i,
  /\bbegin not atomic\b/i,
  /\bexecute immediate\b/i,
  /\bset statement\b/i,
  /\bdelete\b[^`]*\breturning\b/i,
  /\bnopad\b/i,
  /\buca1400\b/i,
  /\b(aria|myrocks|spider|columnstore)\b/i,
  /\bkill (hard|soft)\b/i,
  /\bkill query id\b/i,
  /\bfetch (first|next) .* rows? (only|with ties)\b/i,
  /\bwithout overlaps\b/i,
  /\bsystem versioning\b/i,
  /\b(json_detailed|json_loose|json_compact|json_exists|json_query|json_normalize)\b/i,
  /\brelease_all_locks\b/i,
  /\blimit rows examined\b/i,
  /\bnowait\b|\bwait \d/i,
  /\btx_isolation\b/i,
]
/** Where each of them may stand: what asks first which server it is. */
const NAMED: readonly (readonly [file: string, part: string])[] = [
  ['link/connection.ts', 'idle_transaction_timeout'],
  ['doctor.ts', 'tx_isolation'],
]

/** Texts of statements: of `sql` templates, and of plain texts in the tables. Comments are prose. */
function statementsOf(file: string): string[] {
  const text = readFileSync(join(ROOT, file), 'utf8')
    .replace(/\/\*\*[\s\S]*?\*\//g, '')
    .replace(/^\s*\/\/.*$/gm, '')
  return [...text.matchAll(/`(?:[^`\\]|\\.)*`|'(?:[^'\\\n]|\\.)*'/g)].map(([found]) => found)
}

const files = readdirSync(ROOT, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))

it('the statements use no word that only MariaDB knows, outside of what is named', () => {
  const found = files.flatMap((file) =>
    statementsOf(file)
      .filter((text) => /\b(select|insert|update|delete|set|create|kill|show|do|start|lock)\b/i.test(text))
      .flatMap((text) =>
        WORDS.filter((word) => word.test(text)).map((word) => [file, word.exec(text)?.[0] ?? ''] as const),
      ),
  )
  const wrong = found.filter(
    ([file, part]) => !NAMED.some(([name, word]) => name === file && part.includes(word)),
  )
  expect(wrong).toEqual([])
})

it('each of the named exceptions is still there', () => {
  for (const [file, part] of NAMED) expect(statementsOf(file).join('\n'), file).toContain(part)
})

it('finds such words: the list is not blind', () => {
  const planted = ['insert into x values (1) returning id', 'select next value for s', 'kill hard query 5']
  for (const text of planted)
    expect(
      WORDS.some((word) => word.test(text)),
      text,
    ).toBe(true)
})
