import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'
import { renderApi } from '../../scripts/api.mjs'

const ROOT = resolve(import.meta.dirname, '../..')

it('docs/api.md is what the types say; if not: npm run build && npm run docs:api', async () => {
  expect(readFileSync(join(ROOT, 'docs/api.md'), 'utf8')).toBe(await renderApi(ROOT))
})
