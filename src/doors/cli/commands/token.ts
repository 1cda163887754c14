import { existsSync } from 'node:fs'
import { systemRandom } from '../../../random.ts'
import { parseDuration } from '../../../core/input/duration.ts'
import { SCOPES, type Scope } from '../../http/access/caller.ts'
import { readTokenFile, writeTokenFile } from '../../http/access/token-file.ts'
import { hashToken, makeToken, parseTokenRecord, type TokenRecord } from '../../http/access/tokens.ts'
import { CallError, EXIT, FailedError, type ExitCode } from '../../shared/failure.ts'
import { formatMoment } from '../../shared/moment.ts'
import { printable } from '../../shared/printable.ts'
import { defineCommand, type Call, type OptionSpecs } from '../command.ts'
import { renderTable } from '../terminal/table.ts'

const FILE_DEFAULT = 'punctual-tokens.json'

const OPTIONS = {
  file: { type: 'string', value: 'FILE', help: `where the tokens are kept, hashed; default ${FILE_DEFAULT}` },
  scope: {
    type: 'string',
    multiple: true,
    value: 'SCOPE',
    help: `${SCOPES.join(', ')}; repeatable; default read`,
  },
  'for-queue': { type: 'string', multiple: true, value: 'NAME', help: 'only this queue; repeatable' },
  'topic-prefix': { type: 'string', value: 'TEXT', help: 'only topics that begin with this' },
  expires: { type: 'string', value: 'DURATION', help: 'good for this long: 90d; default: without end' },
} as const satisfies OptionSpecs

type TokenCall = Call<typeof OPTIONS>

export const token = defineCommand({
  name: 'token',
  summary: 'make, list and remove the tokens of "serve"',
  operands: 'add NAME | list | remove NAME',
  arity: [1, 2],
  options: OPTIONS,
  examples: [
    [
      'punctual token add shop --scope produce --expires 90d',
      'prints the token once; the file keeps its hash',
    ],
    ['punctual token add ops --scope read --scope operate', 'for the dashboard, with buttons'],
    ['punctual token list', 'names, scopes, and until when'],
    ['punctual token remove shop', 'a server that reads the file knows it within two seconds'],
  ],
  notes: [
    'ACTION is add, list or remove. Two tokens may live at once: add the new one, then remove the old one.',
  ],
  makesStore: true,
  isPatient: true,
  run: async (call) => {
    const [action, name] = call.positionals
    switch (action) {
      case 'add':
        return add(call, nameOf(name))
      case 'list':
        return show(call)
      case 'remove':
        return remove(call, nameOf(name))
      default:
        throw new CallError('ACTION is one of: add, list, remove.')
    }
  },
})

function nameOf(name: string | undefined): string {
  if (name === undefined) throw new CallError('missing argument: NAME.')
  return name
}

function fileOf({ values }: TokenCall): string {
  return values.file ?? FILE_DEFAULT
}

function read(file: string): readonly TokenRecord[] {
  return existsSync(file) ? readTokenFile(file) : []
}

function add(call: TokenCall, name: string): ExitCode {
  const { values, clock, out, err, json } = call
  const file = fileOf(call)
  const tokens = read(file)
  if (tokens.some((one) => one.name === name))
    throw new FailedError(`there is a token "${name}" in ${file}; remove it first, or choose another name.`)
  const made = makeToken(systemRandom)
  const { scope = ['read'], 'for-queue': queues, 'topic-prefix': topicPrefix, expires } = values
  const now = Math.floor(clock.now())
  const record: TokenRecord = {
    name,
    hash: hashToken(made),
    scopes: scope.map(parseScope),
    ...(queues === undefined ? {} : { queues }),
    ...(topicPrefix === undefined ? {} : { topicPrefix }),
    ...(expires === undefined ? {} : { expiresAt: now + parseDuration(expires, '--expires') }),
    createdAt: now,
  }
  writeTokenFile(file, [...tokens, parseTokenRecord(record, 'the token')])
  if (json) out.json({ name, token: made, file })
  else {
    out.line(made)
    err.line(err.style.dim(`kept as "${name}" in ${file}, hashed; the token itself is shown only now`))
  }
  return EXIT.fine
}

function parseScope(text: string): Scope {
  const found = SCOPES.find((scope) => scope === text)
  if (found === undefined) throw new CallError(`--scope is one of: ${SCOPES.join(', ')}.`)
  return found
}

function show(call: TokenCall): ExitCode {
  const { out, err, json } = call
  const tokens = read(fileOf(call))
  if (json) {
    for (const { hash: _, ...told } of tokens) out.json(told)
    return EXIT.fine
  }
  if (tokens.length === 0) err.line(err.style.dim(`no tokens in ${fileOf(call)}`))
  else
    for (const line of renderTable(COLUMNS, tokens.map(rowOf), { width: out.columns, title: out.style.dim }))
      out.line(line)
  return EXIT.fine
}

const COLUMNS = [{ title: 'name' }, { title: 'scopes' }, { title: 'only' }, { title: 'until' }]

function rowOf({ name, scopes, queues = [], topicPrefix, expiresAt }: TokenRecord): readonly string[] {
  const only = [...queues, ...(topicPrefix === undefined ? [] : [`${topicPrefix}…`])]
  const until = expiresAt === undefined ? '' : formatMoment(expiresAt)
  return [printable(name), scopes.join(' '), printable(only.join(' ')), until]
}

function remove(call: TokenCall, name: string): ExitCode {
  const { out, json } = call
  const file = fileOf(call)
  const tokens = read(file)
  const left = tokens.filter((one) => one.name !== name)
  if (left.length === tokens.length) throw new FailedError(`there is no token "${name}" in ${file}.`)
  writeTokenFile(file, left)
  if (json) out.json({ removed: name })
  else out.line(`removed "${printable(name)}"`)
  return EXIT.fine
}
