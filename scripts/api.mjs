// Writes docs/api*.md from the types in dist/: npm run docs:api, after a build. A test keeps the two equal.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { format, resolveConfig } from 'prettier'
import { renderMethods } from './api/by-method.mjs'
import { declarationOf, exportsOf, textOf } from './api/declarations.mjs'

const ENTRIES = [
  { title: 'punctual', file: 'index.ts' },
  { title: 'punctual/amqp', file: 'doors/amqp/index.ts' },
  { title: 'punctual/server', file: 'doors/http/index.ts' },
  { title: 'punctual/testing', file: 'testing/index.ts' },
]

const MADE = '<!-- Made by "npm run docs:api" from the types and scripts/api/methods.md. Do not edit. -->'

/** Each page with its text. */
export async function renderPages(root) {
  const style = await resolveConfig(join(root, 'package.json'))
  const pages = {
    'docs/api.md': ['# API', MADE, await renderMethods(root, style)],
    'docs/api-types.md': [
      '# Types',
      MADE,
      'Every name that the package exports for those who use it, as the compiler sees it, in the order in which it is worth reading. What ' +
        'the methods do is in the [API](api.md); what an engine is made of in [the contract of engines](api-engines.md).',
      ...ENTRIES.map((entry) => renderEntry(root, entry, ({ from }) => !isForEngines(from))),
    ],
    'docs/api-engines.md': [
      '# The contract of engines',
      MADE,
      'The types that an engine implements, and those of the suite that judges it. How to go about it is in ' +
        '[write an engine](writing-an-engine.md).',
      ...ENTRIES.map((entry) => renderEntry(root, entry, ({ from }) => isForEngines(from))),
    ],
  }
  const texts = Object.entries(pages).map(async ([file, parts]) => [
    file,
    await format(parts.filter(Boolean).join('\n\n'), { ...style, parser: 'markdown' }),
  ])
  return Object.fromEntries(await Promise.all(texts))
}

function isForEngines(file) {
  return /^(?:store\/contract\/|store\/engine\.ts|testing\/(?:census|conformance|faulty|strict))/.test(file)
}

function renderEntry(root, { title, file }, isShown) {
  const shown = exportsOf(root, file).filter(isShown)
  return shown.length === 0
    ? ''
    : [`## \`${title}\``, ...shown.map(({ name, from }) => renderName(root, name, from))].join('\n\n')
}

function renderName(root, name, from) {
  return `### ${name}\n\n\`\`\`ts signature\n${textOf(declarationOf(root, name, from))}\n\`\`\``
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  for (const [file, text] of Object.entries(await renderPages('.'))) writeFileSync(file, text)
}
