/** What the engines know of servers that are something else is told in docs/compatibility.md, each by its name. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const PRODUCTS = ['postgres/link', 'mysql/link', 'redis'].flatMap((folder) => {
  const text = readFileSync(`src/store/${folder}/products.ts`, 'utf8')
  return Array.from(text.matchAll(/^ +(?:\{ )?name: '([^']+)'/gm), ([, name = '']) => name)
})
const PAGE = readFileSync('docs/compatibility.md', 'utf8')

test('each is in the table', () => {
  expect(PRODUCTS.length).toBeGreaterThanOrEqual(16)
  expect(PRODUCTS.filter((name) => !PAGE.includes(lastWords(name)))).toEqual([])
})

/** "a node of a Galera cluster" and "a member of a group with several primaries" are told in other words. */
function lastWords(name: string): string {
  return /Galera|several primaries/.exec(name)?.[0] ?? name
}
