/** The documents keep step with the code. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { ERROR_CODES, UsageError, type ErrorCode } from '../../src/core/errors.ts'
import { MESSAGE_STATES } from '../../src/core/message.ts'
import { slugOf } from '../../site/.vitepress/addresses.ts'
import { TRANSITIONS } from '../../src/core/machines/transition.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

describe('documents', () => {
  it('docs/errors.md has each code, and none that does not exist: cause, remedy and example', () => {
    const parts = new Map(
      read('docs/errors.md')
        .split(/^### /m)
        .slice(1)
        .map((part) => [/^\S+/.exec(part)?.[0] ?? '', part]),
    )
    expect([...parts.keys()].toSorted()).toEqual(Object.keys(ERROR_CODES).toSorted())
    for (const [code, part] of parts)
      expect(part, code).toMatch(/^\w+\n\n\S.+\n\n\*\*To do:\*\* \S[\s\S]+?\n\n```(?:js|sh)\n\S/)
  })

  it('every error leads to its part of docs/errors.md, and says so where Node prints it', () => {
    const anchors = anchorsOf('docs/errors.md')
    const codes = Object.keys(ERROR_CODES) as ErrorCode[]
    const pages = codes.map((code) => new UsageError(code, 'x').page.split('#'))
    expect(new Set(pages.map(([file]) => file))).toEqual(new Set(['punctual/docs/errors.md']))
    expect(pages.filter(([, anchor = '']) => !anchors.has(anchor))).toEqual([])
    expect(inspect(new UsageError('TOPIC_UNKNOWN', 'x'))).toContain('punctual/docs/errors.md#topic_unknown')
  })

  it('every code is used somewhere', () => {
    const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.endsWith('errors.ts'))
      .map((file) => read(join('src', file)))
      .join('\n')
    const unused = Object.keys(ERROR_CODES).filter(
      (code) => code !== 'INVARIANT' && !sources.includes(`'${code}'`),
    )
    expect(unused).toEqual([])
  })

  it('docs/states.md shows the transition table as it is', () => {
    const rows = [...read('docs/states.md').matchAll(/^\| `(\w+)` +\| `(\w+)` +\| `(\w+)`/gm)]
    const shown = rows.map(([, place, verb, target]) => `${place} ${verb} ${target}`)
    const actual = Object.entries(TRANSITIONS).flatMap(([place, row]) =>
      Object.entries(row).map(([verb, target]) => `${place} ${verb} ${target}`),
    )
    expect(shown.toSorted()).toEqual(actual.toSorted())
    const drawn = read('docs/images/states.svg').replaceAll(/<style>[\s\S]*<\/style>/g, '')
    const words = new Set(Object.entries(TRANSITIONS).flatMap(([place, row]) => [place, ...Object.keys(row)]))
    expect([...words].filter((word) => !drawn.includes(word))).toEqual([])
    for (const state of MESSAGE_STATES) expect(read('docs/states.md')).toContain(state)
  })

  it('docs/guarantees.md explains each promise', () => {
    const text = read('docs/guarantees.md')
    for (const i of Array.from({ length: 15 }, (_, n) => n + 1)) {
      expect(text).toMatch(new RegExp(`^\\| P${i} `, 'm'))
      expect(text).toMatch(new RegExp(`^## P${i}\\b`, 'm'))
    }
  })

  it('every bold figure of the README was measured: it stands in docs/performance.md or docs/reliability.md', () => {
    const figures = [...read('README.md').matchAll(/\*\*([\d.,]+)\*\*/g)].map(([, figure]) => figure ?? '')
    const measured = read('docs/performance.md') + read('docs/reliability.md')
    expect(figures.length).toBeGreaterThan(10)
    const unknown = figures.filter((figure) => !new RegExp(`(?<![\\d.,])${figure}(?![\\d])`).test(measured))
    expect(unknown).toEqual([])
  })

  it('the README names every example', () => {
    const text = read('README.md')
    const examples = readdirSync(join(ROOT, 'examples'))
    expect(examples.filter((name) => !text.includes(`\`${name}\``))).toEqual([])
  })

  it('every link between documents leads somewhere', () => {
    const broken = documents().flatMap((document) =>
      linksOf(document)
        .filter(({ file }) => !existsSync(join(ROOT, file)))
        .map(({ file }) => `${document} -> ${file}`),
    )
    expect(broken).toEqual([])
  })

  it('every link to a part of a document leads to a heading of it', () => {
    const broken = documents().flatMap((document) =>
      linksOf(document)
        .filter(
          ({ file, anchor }) => anchor !== undefined && file.endsWith('.md') && existsSync(join(ROOT, file)),
        )
        .filter(({ file, anchor }) => !anchorsOf(file).has(anchor ?? ''))
        .map(({ file, anchor }) => `${document} -> ${file}#${anchor}`),
    )
    expect(broken).toEqual([])
  })
})

function documents(): string[] {
  const pages = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => join('docs', file))
  return ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', ...pages]
}

type Link = { readonly file: string; readonly anchor: string | undefined }

function linksOf(document: string): Link[] {
  return [...read(document).matchAll(/\]\((?!https?:|\/)([^)#\s]*)(?:#([^)\s]+))?\)/g)].map(
    ([, path, anchor]) => ({
      file: path === '' ? document : join(dirname(document), path ?? ''),
      anchor,
    }),
  )
}

/** Of its headings; a `#` inside of a block of code is none. */
function anchorsOf(document: string): Set<string> {
  const prose = read(document).replaceAll(/^```[\s\S]*?^```$/gm, '')
  const counts = new Map<string, number>()
  const slugs = [...prose.matchAll(/^#{1,6} (.+)$/gm)].map(([, heading]) => {
    const slug = slugOf((heading ?? '').replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1'))
    const before = counts.get(slug) ?? 0
    counts.set(slug, before + 1)
    return before === 0 ? slug : `${slug}-${before}`
  })
  return new Set(slugs)
}
