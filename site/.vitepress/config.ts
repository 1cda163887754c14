import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig, type MarkdownEnv, type MarkdownRenderer } from 'vitepress'
import type { Plugin } from 'vite'
import { addressOf, copyInto, REWRITES, ROOT, slugOf, targetOf } from './addresses.ts'
import { writeForAgents } from './for-agents.ts'
import { GROUPS } from './pages.ts'

const HERE = join(ROOT, 'site')

/** Of the repository's root. */
const SHOWN = new Set(['docs', 'site', 'CONTRIBUTING.md', 'CHANGELOG.md'])

/** Files without a page of their own that a page links to; copied when the pages are written. */
const linkedFiles = new Set<string>()

/** Pages stand outside of this package, where no node_modules has what they are translated to. */
const vueFromHere: Plugin = {
  name: 'vue-from-here',
  enforce: 'pre',
  resolveId(source, importer, { ssr }) {
    if (!/^vue(?:\/|$)/.test(source)) return null
    if (ssr === true) return { id: source, external: true }
    if (importer?.startsWith(HERE) === true) return null
    return this.resolve(source, join(HERE, 'index.md'), { skipSelf: true })
  },
}

const sidebar = GROUPS.map(({ title, pages, isFolded }) => ({
  text: title,
  collapsed: isFolded ?? false,
  items: Object.entries(pages).map(([path, text]) => ({ text, link: addressOf(join('docs', path)) })),
}))

/** What users look for comes before what was once decided, and before bare types. The page of errors is one long table. */
function weightOf(page: string): number {
  if (page.startsWith('/errors')) return 2
  return /^\/(?:decisions|api-|contributing|changelog)/.test(page) ? 0.3 : 1
}

/** Pages are rendered once more for the search, which needs no colours: they are half of the work. */
function renderForSearch(text: string, env: MarkdownEnv, md: MarkdownRenderer): string {
  return md.render(text.replaceAll(/^```\S.*$/gm, '```txt'), env)
}

export default defineConfig({
  title: 'punctual',
  description: 'A delayed-message queue for TypeScript.',
  lang: 'en',
  srcDir: '..',
  srcExclude: readdirSync(ROOT)
    .filter((name) => !SHOWN.has(name))
    .flatMap((name) => [name, `${name}/**`]),
  rewrites: REWRITES,
  head: [['link', { rel: 'icon', href: '/icon.svg', type: 'image/svg+xml' }]],
  themeConfig: {
    logo: '/icon.svg',
    sidebar,
    outline: [2, 3],
    search: {
      provider: 'local',
      options: {
        _render: renderForSearch,
        miniSearch: {
          searchOptions: {
            combineWith: 'AND',
            boostDocument: weightOf,
          },
        },
      },
    },
    nav: [
      { text: 'Start', link: addressOf('docs/getting-started.md') },
      { text: 'Recipes', link: addressOf('docs/recipes/README.md') },
      { text: 'API', link: addressOf('docs/api.md') },
      { text: 'Command line', link: addressOf('docs/cli.md') },
      { text: 'Changelog', link: addressOf('CHANGELOG.md') },
    ],
    docFooter: { prev: 'Before', next: 'Next' },
    notFound: {
      title: 'There is no such page',
      quote: 'The search may find what you are looking for.',
      linkText: 'To the front page',
    },
  },
  markdown: {
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    anchor: { slugify: slugOf },
    config: (md) => {
      md.core.ruler.push('addresses', ({ tokens, env }) => {
        const from = (env.realPath ?? env.path) as string
        for (const token of tokens.flatMap(({ children }) => children ?? [])) {
          const target = token.type === 'link_open' ? targetOf(from, token.attrGet('href') ?? '') : undefined
          if (target === undefined) continue
          token.attrSet('href', target.address)
          if (target.file === undefined) continue
          token.attrSet('target', '_blank')
          linkedFiles.add(target.file)
        }
      })
    },
  },
  vite: {
    publicDir: join(ROOT, 'site/public'),
    logLevel: 'warn',
    plugins: [vueFromHere],
    // Pictures stay files: the style finds them by their name.
    build: { assetsInlineLimit: 0, chunkSizeWarningLimit: 4_000 },
  },
  buildEnd: ({ outDir }) => {
    for (const file of linkedFiles) copyInto(outDir, file)
    writeForAgents(outDir)
  },
})
