/**
 * Documents link to each other as files, so that they work in any viewer of Markdown. Here a file becomes its address on
 * the site. What has no page (an example, a source) is copied beside the pages as plain text.
 */
import { copyFileSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, posix, relative, resolve } from 'node:path'

export const ROOT = resolve(import.meta.dirname, '../..')

/** From the root of the repository to the root of the site, for VitePress. */
export const REWRITES: Readonly<Record<string, string>> = {
  'site/index.md': 'index.md',
  'docs/:folder/README.md': ':folder/index.md',
  'docs/:page(.*)': ':page',
  'CONTRIBUTING.md': 'contributing.md',
  'CHANGELOG.md': 'changelog.md',
}

/** Of a page, by its path in the repository. */
export function addressOf(page: string): string {
  const path = page.startsWith('docs/') ? page.slice('docs/'.length) : page.toLowerCase()
  return `/${path.replace(/(?:^|(?<=\/))README\.md$/, '').replace(/\.md$/, '.html')}`
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
function copyOf(file: string): string {
  if (isFolder(file)) return `${file}/index.txt`
  return /\.(?:png|svg|json)$/.test(file) ? file : `${file}.txt`
}

/** Writes what a page links to and the site has no page for; a folder becomes a list of what is in it. */
export function copyInto(outDir: string, file: string): void {
  const copy = join(outDir, 'files', copyOf(file))
  mkdirSync(dirname(copy), { recursive: true })
  if (isFolder(file)) writeFileSync(copy, `${readdirSync(join(ROOT, file)).join('\n')}\n`)
  else copyFileSync(join(ROOT, file), copy)
}

/** A folder is shown by its first page, or by its program, where it has one. */
function entryOf(path: string): string {
  const folder = path.replace(/\/$/, '')
  if (!isFolder(folder)) return path
  const entries = ['README.md', 'main.ts'].map((name) => posix.join(folder, name))
  return entries.find((entry) => existsSync(join(ROOT, entry))) ?? folder
}

function isFolder(path: string): boolean {
  return statSync(join(ROOT, path), { throwIfNoEntry: false })?.isDirectory() === true
}

/** The anchor of a heading, made as code hosts make it, so that one link works in both places. */
export function slugOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-')
}
