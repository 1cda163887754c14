// What the compiler made of src/: exported declarations with their comments, and the members of a class or a type.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** `export { a, b } from './x.ts'`, `export type { c } from ...` and `export type * from ...`, which passes on types. */
export function exportsOf(root, file) {
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

/** Where it stands, or where the file that passes it on has it from. */
export function declarationOf(root, name, file) {
  const own = declarationsIn(root, file).find((declaration) => declaration.name === name)
  if (own !== undefined) return own
  const passedOn = exportsOf(root, file).find((exported) => exported.name === name)
  if (passedOn === undefined) throw new Error(`${file} has no ${name}`)
  return declarationOf(root, name, passedOn.from)
}

/** What a class needs and its user does not. */
const INTERNAL =
  /^\s*(?:#private;|private |protected |constructor\(settings: \w*Settings|constructor\(open: )/

const DECLARATION = /^export (?:declare )?(?:abstract )?(class|interface|type|const|function) (\w+)/

/** Every exported declaration of a file, with the comment before it. tsc starts each at the beginning of a line. */
export function declarationsIn(root, file) {
  const lines = readFileSync(join(root, 'dist', file.replace(/\.ts$/, '.d.ts')), 'utf8').split('\n')
  const found = []
  for (const [i, line] of lines.entries()) {
    const [, kind, name] = DECLARATION.exec(line) ?? []
    if (name === undefined) continue
    const end = kind === 'class' || kind === 'interface' ? '}' : ';'
    const body = bodyFrom(lines, i, end).filter((one) => !INTERNAL.test(one))
    const comment = commentBefore(lines, i)
    found.push({ name, kind, isType: kind !== 'const' && kind !== 'function', comment, body })
  }
  return found
}

/** As a text: its comment, then itself. */
export function textOf({ comment, body }) {
  return [...comment, ...body].join('\n')
}

function commentBefore(lines, at) {
  if (!lines[at - 1]?.trimEnd().endsWith('*/')) return []
  let from = at - 1
  while (!lines[from].trimStart().startsWith('/**')) from -= 1
  return lines.slice(from, at)
}

/** Up to the line that ends what the first one began, with nothing left open. */
function bodyFrom(lines, at, last) {
  let open = 0
  for (let end = at; end < lines.length; end += 1) {
    const code = lines[end].replaceAll(/\/\*\*.*?\*\/|^\s*(?:\/\*\*|\*).*$/g, '')
    open += count(code, /[{([]/g) - count(code, /[})\]]/g)
    if (open === 0 && code.trimEnd().endsWith(last)) return lines.slice(at, end + 1)
  }
  throw new Error(`a declaration without an end: ${lines[at]}`)
}

function count(text, pattern) {
  return text.match(pattern)?.length ?? 0
}

const MEMBER = /^ {4}(?:static )?(?:readonly |get )?(\w+)[?]?(?:<|\(|:)/

/** Of a class or of an object type: each with its comment; overloads come one after the other. */
export function membersOf({ body }) {
  const found = []
  for (let i = 1; i < body.length; i += 1) {
    const [, name] = MEMBER.exec(body[i]) ?? []
    if (name === undefined) continue
    const lines = bodyFrom(body, i, ';')
    found.push({ name, comment: commentBefore(body, i), body: lines })
    i += lines.length - 1
  }
  return found
}

/** The sentences of a comment, without its stars. */
export function sentencesOf(comment) {
  return comment
    .map((line) =>
      line
        .replace(/^\s*(?:\/\*\*|\*\/|\*)\s?/, '')
        .replace(/\s*\*\/$/, '')
        .trim(),
    )
    .join('\n')
    .trim()
}
