// docs/api.md, method by method: signature and first sentence come from the types, the rest from methods.md beside this file.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { format } from 'prettier'
import { declarationOf, declarationsIn, membersOf, sentencesOf } from './declarations.mjs'

/**
 * What a reader calls each thing, and where its members stand. A class that extends another has its members too; the
 * nearest wins.
 */
const HOLDERS = [
  { prefix: '', name: 'Punctual', file: 'queue/punctual.ts' },
  { prefix: 'schedules.', name: 'Schedules', file: 'queue/schedules/schedules.ts' },
  { prefix: 'message.', name: 'Message', file: 'runtime/handler.ts' },
  { prefix: 'server.', name: 'HttpServer', file: 'doors/http/server.ts' },
  { prefix: 'bridge.', name: 'Bridge', file: 'doors/amqp/bridge.ts' },
  { prefix: 'clock.', name: 'VirtualClock', file: 'testing/virtual-clock.ts' },
]

/** Not members of anything. */
const ALONE = [
  ['new Punctual', 'Punctual', 'queue/punctual.ts'],
  ['new RetryIn', 'RetryIn', 'core/machines/outcome.ts'],
  ['new Snooze', 'Snooze', 'core/machines/outcome.ts'],
  ['new DeadLetter', 'DeadLetter', 'core/machines/outcome.ts'],
  ['serve', 'serve', 'doors/http/server.ts'],
  ['bridge', 'bridge', 'doors/amqp/bridge.ts'],
  ['new VirtualClock', 'VirtualClock', 'testing/virtual-clock.ts'],
]

/** Every public method and what else is called: by the name that its section has. */
export function callables(root) {
  const members = HOLDERS.flatMap(({ prefix, name, file }) => {
    const own = new Map()
    for (const declaration of lineage(root, name, file))
      for (const [member, overloads] of grouped(membersOf(declaration).filter(isCalled)))
        if (!own.has(member)) own.set(member, overloads)
    return [...own].map(([member, overloads]) => [
      (/^ {4}static /.test(overloads[0].body[0]) ? `${name}.` : prefix) + member,
      overloads,
    ])
  })
  const alone = ALONE.map(([title, name, file]) => [title, [constructorOrFunction(root, name, file)]])
  return new Map([...alone, ...members].filter(([title]) => !FOR_PUNCTUAL_ITSELF.has(title)))
}

/** A clock is also what punctual itself asks: its user only moves it. */
const FOR_PUNCTUAL_ITSELF = new Set([
  'clock.now',
  'clock.monotonic',
  'clock.schedule',
  'clock.soon',
  'clock.watch',
])

/** A class, and those that it extends. */
function lineage(root, name, file) {
  const declaration = declarationOf(root, name, file)
  const [, base] = /^export declare class .* extends (\w+)/.exec(declaration.body[0]) ?? []
  const from = base === undefined ? undefined : importedFrom(root, base, file)
  return from === undefined ? [declaration] : [declaration, ...lineage(root, base, from)]
}

/** Undefined for what the language brings, such as Error. */
function importedFrom(root, name, file) {
  const text = readFileSync(join(root, 'src', file), 'utf8')
  const [, from] = new RegExp(`import [^;]*?\\b${name}\\b[^;]*? from '(\\.[^']+)'`).exec(text) ?? []
  return from === undefined ? undefined : join(file, '..', from)
}

function isCalled({ name, body }) {
  if (name === 'constructor') return false
  const [first] = body
  return /^ {4}(?:static )?\w+[<(]/.test(first) || /^ {4}readonly \w+: (?:[<(]|\{$)/.test(first)
}

function grouped(members) {
  const groups = new Map()
  for (const member of members) groups.set(member.name, [...(groups.get(member.name) ?? []), member])
  return groups
}

function constructorOrFunction(root, name, file) {
  const declaration = declarationsIn(root, file).find((one) => one.name === name)
  if (declaration.kind === 'function') return declaration
  const own = membersOf(declaration).find((member) => member.name === 'constructor')
  return { ...own, comment: declaration.comment.length > 0 ? declaration.comment : own.comment }
}

/** The sections of methods.md, in its order: `## Group` and below it `### method`. */
export function sectionsOf(text) {
  return text
    .split(/^(?=##? )|^(?=### )/m)
    .map((part) => ({ heading: /^#+ (.+)$/m.exec(part)?.[1] ?? '', level: /^#*/.exec(part)[0].length, part }))
}

export async function renderMethods(root, style) {
  const known = callables(root)
  const sections = sectionsOf(readFileSync(join(root, 'scripts/api/methods.md'), 'utf8'))
  const parts = sections.map(async ({ heading, level, part }) => {
    if (level !== 3) return part.trim()
    const title = heading.replaceAll('`', '')
    const overloads = known.get(title)
    if (overloads === undefined)
      throw new Error(`scripts/api/methods.md has "${title}", which does not exist`)
    const body = part.slice(part.indexOf('\n')).trim()
    const [first] = sentencesOf(overloads[0].comment).split('\n\n')
    return [`### ${heading}`, first, await signature(title, overloads, style), body]
      .filter(Boolean)
      .join('\n\n')
  })
  return (await Promise.all(parts)).join('\n\n')
}

/** Formatted inside of a class, where it is a whole sentence of the language, and taken out of it again. */
async function signature(title, overloads, style) {
  const lines = overloads.flatMap(({ body }) => body).join('\n')
  const isFunction = lines.startsWith('export declare function ')
  const wrapped = isFunction ? lines : `declare class X {\n${lines}\n}`
  const text = await format(wrapped, { ...style, parser: 'typescript' })
  const inner = isFunction ? text.replace('export declare ', '') : text.split('\n').slice(1, -2).join('\n')
  const own = inner
    .replaceAll(/^ {2}/gm, isFunction ? '  ' : '')
    .replaceAll(/^ *\/\*\*[\s\S]*?\*\/\n/gm, '')
    .replace(/^constructor/m, title)
  return `\`\`\`ts signature\n${own.trimEnd()}\n\`\`\``
}
