/** The dashboard stays small: all of its pages together, as they travel. */
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'

const BUILT = resolve(import.meta.dirname, '../../dist/doors/http/dashboard')
const SOURCE = resolve(import.meta.dirname, '../../src/doors/http/dashboard')
const BYTES_MAX = 50_000

describe('the dashboard', () => {
  it('code and style of all pages take at most 50 kB on the way', () => {
    const sent = readdirSync(BUILT).filter((name) => /\.(?:js|css)$/.test(name))
    const bytes = sent.map((name) => gzipSync(readFileSync(join(BUILT, name))).length)
    expect(sent).toHaveLength(2)
    expect(bytes.reduce((a, b) => a + b, 0)).toBeLessThanOrEqual(BYTES_MAX)
  })

  it('the page has no code or style in it, and nothing makes markup of text', () => {
    const page = readFileSync(join(BUILT, 'index.html'), 'utf8')
    expect(page).not.toMatch(/<style|style=|<script(?![^>]*\bsrc=)|\son\w+=/)
    const makers = /dangerouslySetInnerHTML|innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(/
    const files = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' }).filter((file) =>
      /\.tsx?$/.test(file),
    )
    expect(files.filter((file) => makers.test(readFileSync(join(SOURCE, file), 'utf8')))).toEqual([])
  })
})
