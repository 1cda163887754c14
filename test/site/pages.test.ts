/** Each page of docs/ has one place in the site. */
import { existsSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'
import { GROUPS } from '../../site/.vitepress/pages.ts'

const DOCS = resolve(import.meta.dirname, '../../docs')
const PLACED = GROUPS.flatMap(({ pages }) => Object.keys(pages))

it('every page of docs/ is in the list; if not: a line in site/.vitepress/pages.ts', () => {
  const pages = readdirSync(DOCS, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.md'),
  )
  expect(pages.filter((page) => !PLACED.includes(page.replaceAll('\\', '/')))).toEqual([])
})

it('the list names nothing twice, and nothing that does not exist', () => {
  expect(PLACED.filter((page, i) => PLACED.indexOf(page) !== i)).toEqual([])
  expect(PLACED.filter((page) => !existsSync(join(DOCS, page)))).toEqual([])
})
