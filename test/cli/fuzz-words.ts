/**
 * Command lines left to chance, by the table of commands itself: a new command or option is drawn without anybody
 * remembering it here. Each kind of value (`DURATION`, `TOPIC`...) has a list of its own, close to what is right, so
 * that the first check does not stop everything; and every value may be anything.
 *
 * Nothing leaves the machine or the directory: addresses, commands and paths come from the lists below, and text left
 * to chance has no slash.
 */
import fc from 'fast-check'
import { COMMON_OPTIONS } from '../../src/doors/cli/arguments.ts'
import type { Command, OptionSpec } from '../../src/doors/cli/command.ts'
import { COMMANDS } from '../../src/doors/cli/commands.ts'

export type CommandLine = { readonly words: readonly string[]; readonly stdin: string }

export const SECRET = 'hunter2'

const commands: readonly Command[] = await Promise.all(Object.values(COMMANDS).map((load) => load()))

const TEXT = fc
  .oneof(
    fc.string({ unit: 'binary', maxLength: 40 }),
    fc.string({ unit: 'grapheme', maxLength: 40 }),
    fc.string({ maxLength: 300 }),
    fc.integer().map(String),
    fc.double().map(String),
  )
  .map((text) => text.replaceAll('/', '|'))

/** A list of words without blanks, as they would be typed. */
const words = (text: string): string[] => text.trim().split(/\s+/)

const NASTY = fc.constantFrom(
  ...words('- -- -1 0 NaN Infinity 1e9 0x10 null true {} [] "" % %00 .. . * $(id) `id` --json -h = a=b'),
  ...words('__proto__ constructor toString 😀 \uD800 \u202Eevil'),
  '',
  ' ',
  '\u0000',
  '\u001B[31m',
  'a\nb',
  'é'.repeat(150),
  'x'.repeat(100_000),
)

const LONG = {
  name: 'x'.repeat(200),
  tooLong: 'x'.repeat(201),
  file: 'x'.repeat(300),
  number: '9'.repeat(400),
}

/** By what stands for the value in the help, and by the words of the operands. */
const KINDS: Readonly<Record<string, readonly string[]>> = {
  URL: words(`
    file:store file:store?sync=off file:store?sync=on file:store?x=1 file:new file: file file:full
    file:a-file file:a-file/below file:% file:%00 file:${LONG.file} file:/proc/nothing file:/dev/null
    memory: mysql://127.0.0.1:1 redis // REDIS://127.0.0.1:1 redis://127.0.0.1:99999 redis://[::1
    redis://127.0.0.1:1?callTimeout=50ms redis://127.0.0.1:1?callTimeout=soon redis://127.0.0.1:1?x=1
    redis://me:${SECRET}@127.0.0.1:1?callTimeout=50ms redis://me:${SECRET}%@127.0.0.1:1
    redis://127.0.0.1:1/x redis://me:${SECRET}@127.0.0.1:1/x
    rediss://127.0.0.1:1?callTimeout=50ms&tlsCa=nowhere redis://127.0.0.1:1?callTimeout=50ms&callTimeout=1h`),
  NAME: words(`default other a{b} ${LONG.name}`),
  DURATION: words(`0ms 1s 50ms 5m 1.5h 36525d 36526d -5s 5 1e3s 25d ${LONG.number}`),
  MOMENT: words(`
    2030-01-01T09:00Z 2030-01-01 1893488400000 9999-12-31T23:59Z 10000-01-01 0000-01-01T00:00Z 2030-02-31
    2030-01-01T25:00 2030-01-01T09:00+99:99 999999999999999 -1 1969-12-31 tomorrow`),
  N: words(`1 2 50 1000 1001 9995 100000 1.5 +3 1_000 ٣ ${LONG.number}`),
  TOPIC: words(`t u order.close __proto__ ${LONG.name} ${LONG.tooLong}`),
  ID: words(`a b dead running nothing ${LONG.tooLong}`),
  'ID...': words('a b dead running nothing'),
  STATE: words('delayed ready running dead gone'),
  TEXT: words(`a o- "n" {"n":1} [ ${LONG.tooLong}`),
  CURSOR: words('delayed. delayed.zz dead.AAAA running.0 ready.% . nowhere.1'),
  UNIT: words('minute hour day month year week'),
  WHAT: words('keep replace fail burn'),
  PRIORITY: words('high normal low urgent'),
  'TOPIC=COMMAND': words('t=true t=false u=cat t= =true t t="open t=./no-such-program a=b=c'),
  'TOPIC=URL': words('t=http://127.0.0.1:1/x t=ftp://127.0.0.1 t=nowhere t=http:// = t=javascript:1'),
  JSON: words('1 "a" {"n":1} { [1, undefined - 1e999 {"__proto__":1} "\\ud800"'),
  FILE: words('handlers.mjs empty.mjs broken.mjs throws.mjs wrong.mjs full a-file nowhere.mjs'),
  DIRECTORY: words('copy full store a-file a-file/below .. . new/deep/er /dev/null /proc/nothing'),
}

function valueOf(kind: string | undefined): fc.Arbitrary<string> {
  const near = KINDS[kind ?? ''] ?? []
  const anything = fc.oneof(
    { arbitrary: NASTY, weight: 2 },
    TEXT,
    fc.constantFrom(...Object.values(KINDS).flat()),
  )
  // Where paths and addresses are wanted, a text left to chance has been made harmless above; other lists are as well.
  return near.length === 0
    ? anything
    : fc.oneof({ arbitrary: fc.constantFrom(...near), weight: 4 }, { arbitrary: anything, weight: 1 })
}

/** One option as words: with its value apart or joined, without it, with one it does not take. */
function optionWords(name: string, { type, short, value }: OptionSpec): fc.Arbitrary<readonly string[]> {
  const long = `--${name}`
  const dashed = short === undefined ? fc.constant(long) : fc.constantFrom(long, `-${short}`)
  if (type === 'boolean') {
    return fc.oneof(
      { arbitrary: dashed.map((word) => [word]), weight: 8 },
      { arbitrary: NASTY.map((text) => [`${long}=${text}`]), weight: 1 },
    )
  }
  const given = valueOf(value)
  return fc.oneof(
    { arbitrary: fc.tuple(dashed, given), weight: 5 },
    { arbitrary: given.map((text) => [`${long}=${text}`]), weight: 4 },
    { arbitrary: dashed.map((word) => [word]), weight: 1 },
  )
}

function operandWords({ operands, arity: [min, max] }: Command): fc.Arbitrary<readonly string[]> {
  const kinds = operands.split(/[\s[\]|]+/).filter((kind) => kind !== '')
  const word = fc.oneof(...(kinds.length === 0 ? [valueOf(undefined)] : kinds.map(valueOf)))
  const right = fc.array(word, { minLength: min, maxLength: Math.min(max, min + 2) })
  return fc.oneof({ arbitrary: right, weight: 6 }, { arbitrary: fc.array(word, { maxLength: 4 }), weight: 1 })
}

function wordsOf(command: Command): fc.Arbitrary<readonly string[]> {
  const own = Object.entries(command.options).map(([name, spec]) => optionWords(name, spec))
  const common = Object.entries(COMMON_OPTIONS).map(([name, spec]) =>
    name === 'help' ? fc.constant(['--help']) : optionWords(name, spec),
  )
  const foreign = fc.oneof(
    NASTY.map((text) => [text]),
    TEXT.map((text) => [`--${text}`]),
    fc.constantFrom(...Object.keys(COMMANDS)).map((name) => [name]),
    fc.constant(['--']),
  )
  const options = fc.array(
    fc.oneof(
      ...own.map((arbitrary) => ({ arbitrary, weight: 6 })),
      ...common.map((arbitrary) => ({ arbitrary, weight: 1 })),
      { arbitrary: fc.constant(['--json']), weight: 3 },
      { arbitrary: fc.constant(['--yes']), weight: command.options.yes === undefined ? 0 : 6 },
    ),
    { maxLength: 4 },
  )
  return fc
    .tuple(operandWords(command), options, fc.option(foreign, { freq: 6, nil: [] }), fc.boolean())
    .map(([operands, given, strange, isFirst]) => [
      command.name,
      ...(isFirst ? operands : []),
      ...given.flat(),
      ...(isFirst ? [] : operands),
      ...strange,
    ])
}

const JSON_TEXT = fc
  .anything({ withDate: true, withNullPrototype: true, withSparseArray: true, withTypedArray: true })
  .map((value) => {
    try {
      return JSON.stringify(value) ?? 'undefined'
    } catch {
      return typeof value
    }
  })

const near = (kind: string): fc.Arbitrary<unknown> => fc.oneof(valueOf(kind), fc.double(), fc.anything())

const MESSAGE = fc
  .record(
    {
      topic: near('TOPIC'),
      payload: fc.anything(),
      delay: near('DURATION'),
      at: near('MOMENT'),
      id: near('ID'),
      ifExists: near('WHAT'),
      priority: near('PRIORITY'),
      ttl: near('DURATION'),
      timeout: near('DURATION'),
      retry: fc.anything(),
      extra: fc.anything(),
    },
    { requiredKeys: ['topic'] },
  )
  .map((message) => JSON.stringify(message, (_, value: unknown) => (typeof value === 'bigint' ? 1 : value)))

const SOUND = fc.constantFrom(
  '{"topic":"t","payload":1,"delay":"1h"}',
  '{"topic":"t","at":"2030-01-01T00:00Z","id":"a"}',
)

const STDIN = fc
  .array(fc.oneof({ arbitrary: SOUND, weight: 2 }, MESSAGE, JSON_TEXT, TEXT), { maxLength: 5 })
  .map((lines) => lines.join('\n'))

const NO_COMMAND = fc.array(
  fc.oneof(NASTY, TEXT, fc.constantFrom('help', '--help', '--version', '-h', 'list')),
  {
    maxLength: 3,
  },
)

export const COMMAND_LINE: fc.Arbitrary<CommandLine> = fc.record({
  words: fc.oneof(
    ...commands.map((command) => ({ arbitrary: wordsOf(command), weight: command.name === 'demo' ? 1 : 4 })),
    { arbitrary: NO_COMMAND, weight: 2 },
  ),
  stdin: STDIN,
})
