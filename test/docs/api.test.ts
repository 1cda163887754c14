import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { renderPages } from '../../scripts/api.mjs'
import { callables, sectionsOf } from '../../scripts/api/by-method.mjs'
import { ERROR_CODES } from '../../src/core/errors.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')

it('docs/api*.md are what the types and scripts/api/methods.md say; if not: npm run build && npm run docs:api', async () => {
  for (const [file, text] of Object.entries(await renderPages(ROOT))) expect(read(file), file).toBe(text)
})

describe('scripts/api/methods.md', () => {
  const sections = sectionsOf(read('scripts/api/methods.md')).filter(({ level }) => level === 3)

  it('has one section for each public method, and none for what does not exist', () => {
    const titles = sections.map(({ heading }) => heading)
    expect(titles.toSorted()).toEqual([...callables(ROOT).keys()].toSorted())
  })

  it('each has an example, its defaults and its errors', () => {
    const incomplete = sections.filter(
      ({ part }) =>
        !/^```ts\n/m.test(part) || !/^\*\*Defaults\*\*/m.test(part) || !/^\*\*Errors\*\* /m.test(part),
    )
    expect(incomplete.map(({ heading }) => heading)).toEqual([])
  })

  it('every code that it names exists', () => {
    const named = [...read('scripts/api/methods.md').matchAll(/`([A-Z]+_[A-Z_]+|UNSUPPORTED)`/g)].map(
      ([, code]) => code ?? '',
    )
    expect(named.filter((code) => !(code in ERROR_CODES))).toEqual([])
  })
})
