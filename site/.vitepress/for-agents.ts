/**
 * The same pages for agents: `llms.txt` lists them, `llms-full.txt` holds all that users need as one text, and beside each page is
 * its Markdown. Addresses begin at the root of the site, which has no fixed host.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { addressOf, ROOT } from './addresses.ts'
import { GROUPS, type Group } from './pages.ts'

const SUMMARY =
  'A delayed-message queue for TypeScript: hand it a message and a moment, and your handler runs on time, at least once. ' +
  'Messages are kept in memory, in files (SQLite), Redis, PostgreSQL, MySQL or MariaDB.'

type AgentPage = { readonly file: string; readonly title: string; readonly text: string }

export function writeForAgents(outDir: string): void {
  const groups = GROUPS.map((group) => ({ ...group, pages: pagesOf(group) }))
  for (const { file, text } of groups.flatMap(({ pages }) => pages)) {
    const copy = join(outDir, markdownOf(file))
    mkdirSync(dirname(copy), { recursive: true })
    writeFileSync(copy, text)
  }
  const lists = groups.map(({ title, isFolded, pages }) =>
    [`## ${isFolded === true ? 'Optional' : title}`, '', ...pages.map(lineOf), ''].join('\n'),
  )
  writeFileSync(join(outDir, 'llms.txt'), ['# punctual', '', `> ${SUMMARY}`, '', ...lists].join('\n'))
  const whole = groups.filter(({ isFolded }) => isFolded !== true).flatMap(({ pages }) => pages)
  writeFileSync(
    join(outDir, 'llms-full.txt'),
    [
      `# punctual\n\n> ${SUMMARY}\n`,
      ...whole.map(({ file, text }) => `<!-- ${markdownOf(file)} -->\n\n${text}`),
    ].join('\n'),
  )
}

function pagesOf({ pages }: Group): readonly AgentPage[] {
  return Object.entries(pages).map(([path, title]) => {
    const file = posix.join('docs', path)
    return { file, title, text: readFileSync(join(ROOT, file), 'utf8') }
  })
}

function lineOf({ file, title, text }: AgentPage): string {
  const sentence = firstSentence(text)
  return `- [${title}](${markdownOf(file)})${sentence === '' ? '' : `: ${sentence}`}`
}

/** `/guides/delays.md`; of a folder's first page `/recipes/index.md`. */
function markdownOf(file: string): string {
  return addressOf(file).replace(/\/$/, '/index.html').replace(/html$/, 'md')
}

/** Of the first paragraph that is prose. */
function firstSentence(text: string): string {
  const prose = text.split('\n\n').find((part) => /^(?!#|<|\||```|\[!|- )\S/.test(part)) ?? ''
  const line = prose.replaceAll('\n', ' ').replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
  return /^.*?[.:](?= |$)/.exec(line)?.[0] ?? line
}
