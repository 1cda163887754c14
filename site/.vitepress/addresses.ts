/**
 * Documents link to each other as files, so that they work in any viewer of Markdown. Here a file becomes its address on
 * the site. What has no page (an example, a source) is copied beside the pages as plain text.
 */
import { existsSync, statSync } from 'node:fs'
import { join, posix, relative, resolve } from 'node:path'

export const ROOT = resolve(import.meta.dirname, '../..')

/** From the root of the repository to the root of the site, for VitePress. */
export const REWRITES: Readonly<Record<string, string>> = {
  'site/index.md': 'index.md',
  'docs/decisions/README.md': 'decisions/index.md',
  'docs/:page(.*)': ':page',
  'CONTRIBUTING.md': 'contributing.md',
  'CHANGELOG.md': 'changelog.md',
}

const SPECIAL: Readonly<Record<string, string>> = {
  'docs/decisions/README.md': '/decisions/',
  'CONTRIBUTING.md': '/contributing.html',
  'CHANGELOG.md': '/changelog.html',
}

/** Of a page, by its path in the repository. */
export function addressOf(page: string): string {
  return SPECIAL[page] ?? `/${page.replace(/^docs\//, '').replace(/\.md$/, '.html')}`
}

export type Target = { readonly address: string; readonly file?: string }

/** What `href` in the document `from` (absolute) leads to; undefined: leave it as it is. */
export function targetOf(from: string, href: string): Target | undefined {
  if (/^(?:[a-z]+:|#|\/)/i.test(href)) return undefined
  const [path = '', hash = ''] = href.split(/(?=#)/)
  const file = entryOf(posix.join(relative(ROOT, from).replaceAll('\\', '/'), '..', decodeURI(path)))
  // The front page of the site is shorter than the README, and has none of its headings.
  if (file === 'README.md') return { address: '/' }
  if (file.endsWith('.md')) return { address: addressOf(file) + hash }
  return { address: `/files/${copyOf(file)}`, file }
}

/** The name under which a browser shows it instead of saving it. */
export function copyOf(file: string): string {
  return /\.(?:png|svg|json)$/.test(file) ? file : `${file}.txt`
}

/** A folder is shown by its first page, or by its program. */
function entryOf(path: string): string {
  if (!existsSync(join(ROOT, path)) || !statSync(join(ROOT, path)).isDirectory()) return path
  return posix.join(path, existsSync(join(ROOT, path, 'README.md')) ? 'README.md' : 'main.ts')
}

/** The anchor of a heading, made as code hosts make it, so that one link works in both places. */
export function slugOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-')
}
