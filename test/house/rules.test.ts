/** House rules as tests: which room may use which, where time and chance are read, what a file may look like. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { VERSION } from '../../src/core/version.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const SRC = join(ROOT, 'src')

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.tsx?$/.test(file))
  .map((file) => ({ path: file.replaceAll('\\', '/'), text: readFileSync(join(SRC, file), 'utf8') }))

/** Every folder of `store/` with a registration is an engine. */
const ENGINES = files.flatMap(({ path }) => /^store\/(\w+)\/engine\.ts$/.exec(path)?.[1] ?? [])

/** Arrows point one way: a room may use those on its right, and itself. */
const MAY_USE: Record<string, readonly string[]> = {
  core: [],
  'clock.ts': ['core'],
  'random.ts': [],
  'store/contract': ['core', 'clock.ts', 'random.ts'],
  'store/engine.ts': ['store/contract', 'store/foreign.ts', 'core', 'clock.ts', 'random.ts'],
  'store/foreign.ts': ['core'],
  'store/thread': ['core', 'clock.ts', 'random.ts'],
  'store/link': ['core', 'clock.ts', 'random.ts'],
  'store/sql': [
    'store/contract',
    'store/engine.ts',
    'store/link',
    'store/shared',
    'core',
    'clock.ts',
    'random.ts',
  ],
  'store/shared': ['store/contract', 'core', 'clock.ts'],
  'store/partitioned': ['store/contract', 'store/shared', 'core'],
  ...Object.fromEntries(
    ENGINES.map((engine) => [
      `store/${engine}`,
      [
        'store/contract',
        'store/engine.ts',
        'store/foreign.ts',
        'store/partitioned',
        'store/shared',
        'store/thread',
        'store/link',
        'store/sql',
        'core',
        'clock.ts',
        'random.ts',
      ],
    ]),
  ),
  'store/engines.ts': [
    ...ENGINES.map((engine) => `store/${engine}`),
    'store/engine.ts',
    'store/contract',
    'core',
  ],
  runtime: ['store/contract', 'core', 'clock.ts', 'random.ts'],
  queue: [
    'runtime',
    'store/engines.ts',
    'store/engine.ts',
    'store/foreign.ts',
    'store/contract',
    'core',
    'clock.ts',
    'random.ts',
  ],
  'index.ts': [
    'queue',
    'runtime',
    'store/engines.ts',
    'store/engine.ts',
    'store/contract',
    'core',
    'clock.ts',
    'random.ts',
  ],
  'doors/shared': ['index.ts', 'core'],
  'doors/amqp': ['index.ts', 'core', 'clock.ts', 'random.ts'],
  'doors/http': ['doors/shared', 'index.ts', 'queue', 'core', 'clock.ts', 'random.ts'],
  // Runs in a browser: of the rest it uses types, and what is pure.
  'doors/http/dashboard': ['index.ts', 'core'],
  'doors/nest': ['doors/http', 'index.ts', 'queue', 'testing', 'core', 'clock.ts'],
  'doors/mcp': ['doors/shared', 'doors/http', 'index.ts', 'core', 'clock.ts', 'random.ts'],
  'doors/cli': [
    'doors/shared',
    'doors/mcp',
    'doors/amqp',
    'doors/http',
    'index.ts',
    'queue',
    'store/engines.ts',
    'core',
    'clock.ts',
    'random.ts',
  ],
  testing: ['store/contract', 'core', 'clock.ts', 'random.ts'],
}

function roomOf(path: string): string {
  const rooms = Object.keys(MAY_USE).toSorted((a, b) => b.length - a.length)
  const room = rooms.find((name) => path === name || path.startsWith(`${name}/`))
  if (room === undefined)
    throw new Error(`src/${path} is in no known room: give it one here and in docs/architecture.md`)
  return room
}

function importsOf({ path, text }: (typeof files)[number]): string[] {
  const specifiers = [...text.matchAll(/(?:from|import)\s*\(?'(\.[^']+)'/g)].map(
    ([, specifier]) => specifier ?? '',
  )
  return specifiers.map((specifier) =>
    relative(SRC, resolve(SRC, dirname(path), specifier)).replaceAll('\\', '/'),
  )
}

/** Code without comments and texts: what only talks about a thing does not use it. */
function code(text: string): string {
  return text
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/\/\/.*$/gm, '')
    .replace(/'(?:[^'\\\n]|\\.)*'/g, "''")
}

function offenders(pattern: RegExp, isExempt: (path: string) => boolean): string[] {
  return files.filter(({ path, text }) => !isExempt(path) && pattern.test(code(text))).map(({ path }) => path)
}

describe('house rules', () => {
  it('arrows between rooms point one way', () => {
    const wrong: string[] = []
    for (const file of files) {
      const room = roomOf(file.path)
      for (const used of importsOf(file)) {
        const target = roomOf(used)
        if (target !== room && !MAY_USE[room]?.includes(target)) wrong.push(`${file.path} uses ${used}`)
      }
    }
    expect(wrong).toEqual([])
  })

  it('time is read only in clock.ts, and in a browser in its own', () => {
    const time = /\b(?:Date\.now|performance\.now|setTimeout|setInterval|process\.hrtime|new Date\(\))/
    const clocks = ['clock.ts', 'doors/http/dashboard/state/clock.ts']
    expect(offenders(time, (path) => clocks.includes(path) || path.startsWith('testing/'))).toEqual([])
  })

  it('chance is read only in random.ts', () => {
    expect(
      offenders(/\b(?:Math\.random|randomBytes|randomUUID|randomInt)\b/, (path) => path === 'random.ts'),
    ).toEqual([])
  })

  it('core is pure: no IO, no promises but the schema’s', () => {
    const impure = /\bprocess\.|\bconsole\.|node:(?!assert)|\bPromise\b|\basync\b/
    expect(offenders(impure, (path) => !path.startsWith('core/') || path === 'core/input/schema.ts')).toEqual(
      [],
    )
  })

  it('no policy in engines', () => {
    const policy = files.filter(({ path }) => path.startsWith('store/'))
    const uses = policy.filter((file) =>
      importsOf(file).some((used) =>
        /core\/(outcome|backoff|input\/handle-options|input\/request)/.test(used),
      ),
    )
    // An engine may pause between reconnects; what becomes of a message is not its business.
    expect(uses.map(({ path }) => path).filter((path) => !path.includes('connection'))).toEqual([])
  })

  it('the runtime sees no engine', () => {
    const seen = files.filter(({ path }) => path.startsWith('runtime/')).flatMap(importsOf)
    expect(seen.filter((used) => used.startsWith('store/') && !used.startsWith('store/contract/'))).toEqual(
      [],
    )
  })

  it('nothing outside its folder names the server or the library of an engine', () => {
    const names: Readonly<Record<string, RegExp>> = {
      redis: /redis|valkey/i,
      file: /lmdb|sqlite/i,
      postgres: /postgres|'pg'/i,
      mysql: /mysql|mariadb/i,
    }
    const wrong = Object.entries(names).flatMap(([engine, name]) =>
      files
        .filter(({ path }) => path !== 'store/engines.ts' && !path.startsWith(`store/${engine}/`))
        .filter(({ text }) => name.test(text))
        .map(({ path }) => `${path} names ${engine}`),
    )
    expect(wrong).toEqual([])
  })

  it('loading the package loads no engine, only their registrations', () => {
    const byPath = new Map(files.map((file) => [file.path, file]))
    const loaded = new Set<string>()
    const load = (path: string): void => {
      const file = byPath.get(path)
      if (file === undefined || loaded.has(path)) return
      loaded.add(path)
      const text = file.text
        .replace(/import type [\s\S]*?from '[^']+'/g, '')
        .replace(/export type [{*][^']*'[^']+'/g, '')
        .replace(/import\('[^']+'\)/g, '')
      for (const used of importsOf({ path, text })) load(used)
    }
    load('index.ts')
    const engines = [...loaded].filter((path) => /^store\/\w+\/(store|open)\.ts$/.test(path))
    expect(engines).toEqual([])
    for (const engine of ENGINES) expect(loaded).toContain(`store/${engine}/engine.ts`)
  })

  it('a type name means one thing: it is declared once in the source', () => {
    const places = new Map<string, string[]>()
    for (const { path, text } of files) {
      for (const [, name = ''] of text.matchAll(
        /^(?:export )?(?:declare )?(?:abstract )?(?:type|interface|class) (\w+)/gm,
      )) {
        places.set(name, [...(places.get(name) ?? []), path])
      }
    }
    const shared = [...places].filter(([, paths]) => paths.length > 1)
    expect(Object.fromEntries(shared)).toEqual({})
  })

  it('the version in the source is that of the package', () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }
    expect(VERSION).toBe(version)
  })

  it('no file of the source has grown beyond what one reads at a sitting', () => {
    const long = files.filter(
      ({ path, text }) => !path.includes('generated') && text.split('\n').length > 350,
    )
    expect(long.map(({ path }) => path)).toEqual([])
  })

  it('no folder of the source holds more files than one takes in at a glance', () => {
    /** Lists: one file for each thing of a kind, where the name alone says which. */
    const lists = ['doors/cli/commands', 'testing/conformance']
    const crowds = new Map<string, number>()
    for (const { path } of files) crowds.set(dirname(path), (crowds.get(dirname(path)) ?? 0) + 1)
    const crowded = [...crowds].filter(([folder, count]) => count > 16 && !lists.includes(folder))
    expect(crowded).toEqual([])
  })

  it('no any, no enum, no ts-ignore, no default export', () => {
    const forbidden = /:\s*any\b|\bas any\b|@ts-ignore|^\s*(?:export )?enum\b|^export default/m
    expect(offenders(forbidden, () => false)).toEqual([])
  })
})
