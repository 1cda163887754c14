/**
 * The power is cut. A process cannot be made to lose what the operating system still holds, so we watch it with
 * strace and rebuild, write by write, what would be on the disk at a given moment:
 *
 *   written, then synced              there
 *   written through O_DSYNC           there
 *   written, not yet synced           there or not, as chance will have it: each write on its own
 *
 * Whatever the moment, the store must open, add up, and hold everything that was acknowledged before it.
 */
import { execFile } from 'node:child_process'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { takeCensus } from '../../../src/testing/census.ts'
import { VirtualClock } from '../../../src/testing/virtual-clock.ts'
import { openStore, temporaryDirectory, type TemporaryDirectory } from './bench.ts'
import { commandOf } from './programs.ts'

/** Enough for the journal to be moved into the store and start over. */
const ROUNDS = 60
const CUTS = Number(process.env['PUNCTUAL_POWER_CUTS'] ?? 60)

const FILES = ['queue.db', 'queue.db-wal'] as const
type FileName = (typeof FILES)[number]

/** Open descriptors of the store's files. */
type Files = Map<string, { readonly file: FileName; readonly isSynced: boolean; position: number }>

type Event =
  | {
      readonly kind: 'write'
      readonly file: FileName
      readonly offset: number
      readonly bytes: Buffer
      readonly isSynced: boolean
    }
  | { readonly kind: 'length'; readonly file: FileName; readonly bytes: number }
  | { readonly kind: 'sync'; readonly file: FileName }
  | { readonly kind: 'said'; readonly line: string }

let place: TemporaryDirectory

beforeAll(async () => {
  place = await temporaryDirectory()
})

afterAll(async () => {
  await place.remove()
})

test(`P2: ${CUTS} power cuts, and nothing acknowledged is missing`, async (context) => {
  const directory = path.join(place.directory, 'store')
  const events = (await watch(directory).catch(() => undefined)) ?? []
  if (events.length === 0) context.skip('strace is not installed or not allowed here')
  const begins = events.findIndex((event) => event.kind === 'said')
  expect(events.filter(({ kind }) => kind === 'said').length).toBe(3 * ROUNDS)
  for (let cut = 0; cut < CUTS; cut += 1) {
    const moment = begins + Math.floor(((events.length - begins) * (cut + 1)) / CUTS)
    const disk = path.join(place.directory, 'disk')
    await rm(disk, { recursive: true, force: true })
    await mkdir(disk)
    for (const file of FILES)
      await writeFile(path.join(disk, file), imageAt(file, events.slice(0, moment), cut))
    await check(disk, events.slice(0, moment), `cut ${cut} of ${CUTS}`)
  }
}, 600_000)

async function check(disk: string, events: readonly Event[], where: string): Promise<void> {
  const expected = new Map<string, string>()
  for (const event of events) {
    if (event.kind !== 'said') continue
    const [what = '', ...ids] = event.line.split(' ')
    for (const id of ids) expected.set(id, what)
  }
  const store = await openStore(disk, { clock: new VirtualClock(systemClock.now()) })
  const { places } = await takeCensus(store)
  await store.close()
  for (const [id, what] of expected) {
    const found = places.get(id)
    // The call after the last acknowledged one may or may not have made it.
    const isFine = what === 'gone' ? found === undefined : found !== undefined || what === 'running'
    expect(isFine, `${where}: ${id} was acknowledged as ${what} and is ${found}`).toBe(true)
    if (what === 'running' && found !== undefined) expect(found, `${where}: ${id}`).toBe('running')
  }
}

/** One file after a power cut behind the last of these events. */
function imageAt(file: FileName, events: readonly Event[], seed: number): Buffer {
  const lastSync = events.findLastIndex((event) => event.kind === 'sync' && event.file === file)
  let image = Buffer.alloc(0)
  let length = 0
  const grow = (bytes: number): void => {
    if (image.length < bytes) image = Buffer.concat([image, Buffer.alloc(bytes)])
    length = Math.max(length, bytes)
  }
  for (const [index, event] of events.entries()) {
    if (event.kind === 'said' || event.kind === 'sync' || event.file !== file) continue
    const isSynced = index < lastSync || (event.kind === 'write' && event.isSynced)
    if (!isSynced && (index * 7919 + seed * 104_729) % 2 === 0) continue
    if (event.kind === 'length') {
      grow(event.bytes)
      image.fill(0, event.bytes)
      length = event.bytes
    } else {
      grow(event.offset + event.bytes.length)
      event.bytes.copy(image, event.offset)
    }
  }
  return image.subarray(0, length)
}

/** Runs a child under strace and reads what it did to its files, in order. */
async function watch(directory: string): Promise<Event[]> {
  const log = path.join(place.directory, 'strace.log')
  const { command, args } = commandOf('steady.mjs', { directory, count: ROUNDS })
  const calls = 'trace=openat,close,lseek,pwrite64,pwritev,write,writev,fsync,fdatasync,ftruncate'
  await promisify(execFile)('strace', [
    '-f',
    '-xx',
    '-s',
    '100000000',
    '-e',
    calls,
    '-o',
    log,
    command,
    ...args,
  ])
  return parse(await readFile(log, 'latin1'))
}

function parse(log: string): Event[] {
  const files: Files = new Map()
  const begun = new Map<string, string>()
  const events: Event[] = []
  for (const raw of log.split('\n')) {
    const line = wholeLine(raw, begun)
    if (line === undefined) continue
    const event = parseLine(line, files)
    if (event !== undefined) events.push(event)
  }
  return events
}

/** A call that was interrupted by another thread's is logged in two halves. It counts when it returns. */
function wholeLine(raw: string, begun: Map<string, string>): string | undefined {
  const [, thread = '', rest = ''] = /^(\d+)\s+(.*)$/.exec(raw) ?? []
  const unfinished = rest.indexOf(' <unfinished ...>')
  if (unfinished >= 0) {
    begun.set(thread, rest.slice(0, unfinished))
    return undefined
  }
  const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(rest)
  return resumed === null ? rest : `${begun.get(thread) ?? ''}${resumed[1] ?? ''}`
}

function parseLine(line: string, files: Files): Event | undefined {
  const [, call = '', given = '', result = ''] = /^(\w+)\((.*)\)\s+= (-?\d+)/.exec(line) ?? []
  const descriptor = /^\d+/.exec(given)?.[0] ?? ''
  const file = files.get(descriptor)
  const lastNumber = Number(/\d+$/.exec(given)?.[0])
  switch (call) {
    case 'openat':
      for (const name of FILES) {
        if (!unescape(given).endsWith(`/${name}`)) continue
        files.set(result, { file: name, isSynced: given.includes('O_DSYNC'), position: 0 })
      }
      return undefined
    case 'close':
      files.delete(descriptor)
      return undefined
    case 'lseek':
      if (file !== undefined) file.position = Number(result)
      return undefined
    case 'fsync':
    case 'fdatasync':
      return file && { kind: 'sync', file: file.file }
    case 'ftruncate':
      return file && { kind: 'length', file: file.file, bytes: lastNumber }
    case 'write':
    case 'writev':
      if (descriptor === '1') return { kind: 'said', line: unescape(given).trim() }
      return file && { kind: 'write', ...file, offset: file.position, bytes: bytesIn(given) }
    case 'pwrite64':
    case 'pwritev':
      return file && { kind: 'write', ...file, offset: lastNumber, bytes: bytesIn(given) }
    default:
      return undefined
  }
}

function bytesIn(given: string): Buffer {
  return Buffer.from(unescape(given), 'latin1')
}

/** Everything between quotes, with its \x.. turned back into bytes. */
function unescape(given: string): string {
  return [...given.matchAll(/"((?:\\x[0-9a-f]{2})*)"/g)]
    .map(([, hex = '']) => Buffer.from(hex.replaceAll('\\x', ''), 'hex').toString('latin1'))
    .join('')
}
