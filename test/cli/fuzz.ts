/**
 * Whatever is typed: an exit code that the docs know, one line about what is wrong, nothing stored by a call that was
 * refused, no stack, no hang. The seed of a failing run is in its message.
 *
 *   PUNCTUAL_FUZZ_RUNS=2000 npx vitest run test/cli/fuzz.long.test.ts      many more; a run is up to eight command lines
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ERROR_CODES } from '../../src/core/errors.ts'
import { DOOR_CODES } from '../../src/doors/shared/failure.ts'
import { Punctual, type FoundMessage } from '../../src/index.ts'
import { COMMAND_LINE, SECRET, type CommandLine } from './fuzz-words.ts'
import { runHere, type Ended } from './in-process.ts'
import { makePlace, type Place } from './punctual.ts'

/** Always the same, unless many runs are asked for: those are to find something new. */
const MANY = process.env.PUNCTUAL_FUZZ_RUNS
const SEED = MANY === undefined ? { seed: 4711 } : {}
/** Long after the slowest start: what still runs then listens to signals. */
const STOP_AFTER_MS = 3_000
const LINES_MAX = 8
/** Of what runs until it is told to stop. */
const READ_FOR_MS = 300

const STORE = 'file:store?sync=off'
const ENV = { PUNCTUAL_STORE: STORE, TZ: 'UTC' }

/** They only look: the store is as it was, whatever they are told. */
const LOOKING = ['stats', 'list', 'get', 'why', 'workers', 'dead', 'upcoming', 'doctor', 'backup']

const home = process.cwd()
let scratch = ''

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'punctual-fuzz-'))
})

afterAll(async () => {
  process.chdir(home)
  await rm(scratch, { recursive: true, force: true })
})

/** A place with everything that words may name: a store with messages in each state, modules, files in the way. */
async function furnish(directory: string, store = STORE): Promise<void> {
  await mkdir(join(directory, 'full'), { recursive: true })
  const files = {
    'full/stranger': '',
    'a-file': 'text',
    'handlers.mjs': 'export default { t: () => undefined, u: { handler() { throw new Error("no") } } }',
    'empty.mjs': '',
    'broken.mjs': 'export default {',
    'throws.mjs': 'throw new Error("not today")',
    'wrong.mjs': 'export default { t: 5 }',
  }
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text)
  const queue = new Punctual({ store, logger: false, retry: { limit: 0 } })
  try {
    await queue.produce('t', { n: 1 }, { id: 'a', delay: '1h' })
    await queue.produce('u', { n: 2 }, { id: 'b', delay: '30d', priority: 'high', ttl: '1h' })
    await queue.produce('dies', '\u001B[31m', { id: 'dead' })
    const died = new Promise<void>((resolve) => queue.on('dead', () => resolve()))
    queue.handle('dies', () => {
      throw new Error('no\n    at way (\u001B[31m)')
    })
    await queue.start()
    await died
  } finally {
    await queue.stop()
  }
}

/** All that is stored, without what the clock alone changes. */
async function contentOf(store: string): Promise<string[]> {
  const queue = new Punctual({ store, logger: false })
  try {
    const found: FoundMessage[] = []
    let cursor: string | undefined
    do {
      const page = await queue.list(cursor === undefined ? {} : { cursor })
      found.push(...page.items)
      cursor = page.cursor
    } while (cursor !== undefined)
    return found
      .map(({ state, ...rest }) =>
        JSON.stringify({ ...rest, isWaiting: state === 'delayed' || state === 'ready' }),
      )
      .toSorted()
  } finally {
    await queue.stop()
  }
}

function textOf(lines: readonly CommandLine[]): string {
  return lines.flatMap(({ words, stdin }) => [...words, stdin]).join(' ')
}

/** `given`: everything that was said to the store so far, and may be quoted. */
function checkEnded(words: readonly string[], given: string, { code, stdout, stderr, isWhole }: Ended): void {
  const said = `${stdout}${stderr}`
  expect([0, 1, 2]).toContain(code)
  if (isStoreOnly(words, given)) expect(said).not.toContain(SECRET)
  for (const slip of ['undefined', '[object Object]', 'NaN']) {
    if (!given.includes(slip)) expect(said).not.toContain(slip)
  }
  expect(stderr).not.toMatch(/^\s+at /m)
  // oxlint-disable-next-line no-control-regex -- nothing may move the cursor or colour the screen.
  expect(said).not.toMatch(/[\u0000-\u0009\u000B-\u001F\u007F-\u009F]/)
  if (asksFor('--json', words) && isWhole) checkJson(words, code, stdout)
  if (code === 2 && !words.includes('--json')) {
    expect(stderr).toMatch(/^punctual: .+(?:[.)"…]|[.)"…] See punctual\/docs\/errors\.md#[a-z_]+)\n$/)
    expect(stdout).toBe('')
  }
  if (code === 2) expect(stderr.length).toBeLessThan(2_000)
}

/** The URL with a password was given as the store, and not as an id or a topic, which are shown as they are. */
function isStoreOnly(words: readonly string[], given: string): boolean {
  const stores = words.filter((word, i) => word.startsWith('--store=') || words[i - 1] === '--store')
  return given.split(SECRET).length === stores.join(' ').split(SECRET).length
}

/** As an option, neither after `--` nor as the value of the option before. */
function asksFor(option: string, words: readonly string[]): boolean {
  const at = words.indexOf(option)
  const end = words.indexOf('--')
  if (at === -1 || (end !== -1 && end < at)) return false
  return at === 0 || !words[at - 1]?.startsWith('-') || words[at - 1] === '-'
}

function checkJson(words: readonly string[], code: number, stdout: string): void {
  if (words.some((word) => word === '--help' || word === '-h' || word === 'help' || word === '--version'))
    return
  const documents = stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { error?: unknown; code?: unknown })
  const [complaint] = documents.filter(({ error }) => error !== undefined)
  if (code === 2) expect(complaint).toBeDefined()
  if (complaint?.code === undefined) return
  expect(complaint).toMatchObject({ error: expect.any(String), code: expect.any(String) })
  const isLibrarys = Object.hasOwn(ERROR_CODES, complaint.code as string)
  expect(Object.keys(complaint)).toEqual(['error', 'code', ...(isLibrarys ? ['page'] : [])])
  expect([DOOR_CODES.unexpected, 'INVARIANT']).not.toContain(complaint.code)
}

export function fuzz(runsMax: number): void {
  const numRuns = Number(MANY ?? runsMax)
  describe('a fuzzer at the shell', () => {
    it('in this process: an answer, or one line with nothing done', { timeout: 3_600_000 }, async () => {
      let runs = 0
      await fc.assert(
        fc.asyncProperty(fc.array(COMMAND_LINE, { minLength: 1, maxLength: LINES_MAX }), async (lines) => {
          runs += 1
          const directory = join(scratch, String(runs), 'place')
          await mkdir(directory, { recursive: true })
          process.chdir(directory)
          await furnish(directory)
          let before = await contentOf(STORE)
          for (const line of lines) {
            if (line.words.includes('--crash')) continue // It needs the built files: see the next test.
            const ended = await runHere(line.words, { stdin: line.stdin, env: ENV, readForMs: READ_FOR_MS })
            checkEnded(line.words, textOf(lines), ended)
            const after = await contentOf(STORE)
            if (ended.code === 2 || LOOKING.includes(line.words[0] ?? '')) expect(after).toEqual(before)
            before = after
          }
          process.chdir(home)
          await rm(join(scratch, String(runs)), { recursive: true, force: true })
        }),
        { numRuns, ...SEED },
      )
    })

    it(
      'as the binary: the same, and it dies of no signal',
      { timeout: 3_600_000 },
      async ({ onTestFinished }) => {
        await fc.assert(
          fc.asyncProperty(COMMAND_LINE, async (line) => {
            // A process cannot be given a word with a null byte.
            fc.pre(!line.words.some((word) => word.includes('\u0000')))
            const place = await makePlace(STORE, onTestFinished)
            await furnish(place.directory, `file:${join(place.directory, 'store')}?sync=off`)
            checkEnded(line.words, textOf([line]), await runThere(place, line))
          }),
          { numRuns: Math.ceil(numRuns / 4), ...SEED },
        )
      },
    )
  })
}

/** Once it works or watches, it is told to stop; before that a signal would just end it. */
async function runThere(place: Place, { words, stdin }: CommandLine): Promise<Ended> {
  const running = place.start(words)
  running.type(stdin)
  let isWhole = true
  const timer = setTimeout(() => {
    isWhole = false
    running.signal('SIGTERM')
  }, STOP_AFTER_MS)
  const { code, ...said } = await running.ended
  clearTimeout(timer)
  return { code: code ?? NaN, ...said, isWhole }
}
