// Writes docs/api.md from the types in dist/: npm run docs:api, after a build. A test keeps the two equal.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { format, resolveConfig } from 'prettier'

const ENTRIES = [
  { title: 'punctual', file: 'index.ts' },
  { title: 'punctual/amqp', file: 'doors/amqp/index.ts' },
  { title: 'punctual/server', file: 'doors/http/index.ts' },
  { title: 'punctual/testing', file: 'testing/index.ts' },
]

/** In the order in which the entry names them: that is the order in which they are worth reading. */
export async function renderApi(root) {
  const parts = ENTRIES.map(({ title, file }) => renderEntry(root, title, file))
  const text = [
    '# API reference',
    '<!-- Made by "npm run docs:api" from the types. Do not edit. -->',
    'Every name that the package exports, as the compiler sees it. For how to use them see the [guides](guides/delays.md).',
    ...parts,
  ].join('\n\n')
  return format(text, { ...(await resolveConfig(join(root, 'package.json'))), parser: 'markdown' })
}

function renderEntry(root, title, file) {
  const sections = exportsOf(root, file).map(({ name, from }) => renderName(root, name, from))
  return [`## \`${title}\``, ...sections].join('\n\n')
}

/** `export { a, b } from './x.ts'`, `export type { c } from ...` and `export type * from ...`, which passes on types. */
function exportsOf(root, file) {
  const text = readFileSync(join(root, 'src', file), 'utf8')
  const found = []
  for (const [, names, from] of text.matchAll(/export (?:type )?(?:\{([^}]*)\}|\*) from '([^']+)'/g)) {
    const path = join(file, '..', from)
    if (names === undefined) {
      const types = declarationsIn(root, path).filter(({ isType }) => isType)
      found.push(...types.map(({ name }) => ({ name, from: path })))
      found.push(...exportsOf(root, path))
    } else {
      for (const name of names.split(',').map((item) => item.trim()))
        if (name !== '') found.push({ name, from: path })
    }
  }
  return found
}

function renderName(root, name, from) {
  const own = declarationOf(root, name, from)
  // What users call a Punctual is a Queue that knows its engines: its methods are there.
  const base = name === 'Punctual' ? declarationOf(root, 'Queue', 'queue/queue.ts') : undefined
  const blocks = [own, base].filter(Boolean).map(({ text }) => `\`\`\`ts\n${text}\n\`\`\``)
  return [`### ${name}`, ...blocks].join('\n\n')
}

/** Where it stands, or where the file that passes it on has it from. */
function declarationOf(root, name, file) {
  const own = declarationsIn(root, file).find((declaration) => declaration.name === name)
  if (own !== undefined) return own
  const passedOn = exportsOf(root, file).find((exported) => exported.name === name)
  if (passedOn === undefined) throw new Error(`${file} has no ${name}`)
  return declarationOf(root, name, passedOn.from)
}

/** What a class needs and its user does not. */
const INTERNAL = /^\s*(?:#private;|private |constructor\(settings: \w*Settings)/

const DECLARATION = /^export (?:declare )?(?:abstract )?(class|interface|type|const|function) (\w+)/

/** Every exported declaration of a file, with the comment before it. tsc starts each at the beginning of a line. */
function declarationsIn(root, file) {
  const lines = readFileSync(join(root, 'dist', file.replace(/\.ts$/, '.d.ts')), 'utf8').split('\n')
  const found = []
  for (const [i, line] of lines.entries()) {
    const [, kind, name] = DECLARATION.exec(line) ?? []
    if (name === undefined) continue
    const text = [...commentBefore(lines, i), ...bodyFrom(lines, i)].join('\n')
    found.push({ name, isType: kind !== 'const' && kind !== 'function', text })
  }
  return found
}

function commentBefore(lines, at) {
  if (!lines[at - 1]?.endsWith('*/')) return []
  let from = at - 1
  while (!lines[from].startsWith('/**')) from -= 1
  return lines.slice(from, at)
}

/** Up to the line that closes what the first one opened. */
function bodyFrom(lines, at) {
  let end = at + 1
  while (end < lines.length && /^[\s})|&]/.test(lines[end])) end += 1
  return lines.slice(at, end).filter((line) => !INTERNAL.test(line))
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  writeFileSync('docs/api.md', await renderApi('.'))
}
