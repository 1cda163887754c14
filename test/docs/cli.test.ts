import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, it } from 'vitest'
import { COMMANDS } from '../../src/doors/cli/commands.ts'

const read = (file: string): string => readFileSync(resolve(import.meta.dirname, '../..', file), 'utf8')
const TEXT = read('docs/cli.md')

it('docs/cli.md speaks of every command and every option', async () => {
  const missing: string[] = []
  for (const [name, load] of Object.entries(COMMANDS)) {
    if (!new RegExp(`\`${name}[ \`]`).test(TEXT)) missing.push(name)
    for (const option of Object.keys((await load()).options)) {
      if (!TEXT.includes(`\`--${option}`)) missing.push(`${name} --${option}`)
    }
  }
  expect(missing).toEqual([])
})

it('the pages that list the kinds of "why" list all that the type has', () => {
  const type = /^export type Why[\s\S]*?\n\n/m.exec(read('src/queue/looking/why.ts'))?.[0] ?? ''
  const kinds = [...type.matchAll(/kind: '([a-z-]+)'/g)].map(([, kind = '']) => kind)
  expect(kinds).toContain('in-line')
  for (const page of ['docs/cli.md', 'docs/guides/operating.md']) {
    const list = /`kind`[^;]*;/.exec(read(page))?.[0] ?? ''
    const named = [...list.matchAll(/`([a-z-]+)`/g)].map(([, kind = '']) => kind).slice(1)
    expect(named.toSorted(), page).toEqual(kinds.toSorted())
  }
})
