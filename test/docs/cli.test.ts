import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, it } from 'vitest'
import { COMMANDS } from '../../src/doors/cli/commands.ts'

const TEXT = readFileSync(resolve(import.meta.dirname, '../../docs/cli.md'), 'utf8')

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
