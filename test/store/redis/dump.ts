/**
 * The whole key space of a queue, in words: for tests that compare what a script left behind with what it found.
 *
 *   payload              { a: '#1000.1 at 1000 1 order.close|{}' }   stamp, producedAt, priority, topic, meta, body
 *   line:order.close:1   { '#1000.1 a': '1500' }                     stamp and id -> dueAt
 *   heads, lines         { 'order.close:1': '1500' }
 *   claim:test/n         { '': 'order.close:1 since 1500', a: '1500 1 #1000.1' }     (+n: taken over)
 *   claims               { 'test/n': '31500' }
 */
import { RESP_TYPES, createClient } from 'redis'
import { numberOf } from '../../../src/core/encoding/digits.ts'
import { decodePayload } from '../../../src/store/redis/wire/payload.ts'

export type Dump = Readonly<Record<string, Readonly<Record<string, string>>>>

export async function dump(url: string, queue: string): Promise<Dump> {
  const client = await createClient({ url }).connect()
  try {
    // Bytes as characters: attempts are not text.
    const bytes = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer })
    const read: Read = async (command) => {
      const reply = (await bytes.sendCommand(command)) as unknown
      return flat(reply).map((part) => (Buffer.isBuffer(part) ? part.toString('latin1') : String(part)))
    }
    const prefix = `punctual:2:{${queue}}:`
    const found: Record<string, Record<string, string>> = {}
    for (const key of (await client.keys('*')).filter((one) => one.startsWith(prefix)).toSorted()) {
      const name = key.slice(prefix.length)
      found[withoutNonce(name)] = await entriesOf(name, key, read)
    }
    return found
  } finally {
    client.destroy()
  }
}

/** Every key on the server, for tests that nothing strange appears. */
export async function allKeys(url: string): Promise<string[]> {
  const client = await createClient({ url }).connect()
  try {
    return (await client.keys('*')).toSorted()
  } finally {
    client.destroy()
  }
}

type Read = (command: string[]) => Promise<string[]>
type Words = (text: string) => string

async function entriesOf(name: string, key: string, read: Read): Promise<Record<string, string>> {
  const set = async (member: Words): Promise<Record<string, string>> =>
    pairs(await read(['ZRANGE', key, '0', '-1', 'WITHSCORES']), member, same)
  const hash = async (value: Words): Promise<Record<string, string>> =>
    pairs(await read(['HGETALL', key]), utf8, value)
  const [kind = ''] = name.split(':')
  switch (kind) {
    case 'order':
      return { greatest: stampOrId((await read(['GET', key]))[0] ?? '') }
    case 'line':
      return set(member)
    case 'heads':
    case 'lines':
    case 'claims':
      return set(place)
    case 'payload':
      return hash(payload)
    case 'claim':
      return hash(entry)
    case 'failures':
      return hash(failure)
    case 'running':
    case 'died':
    case 'facts':
    case 'figures':
      return hash(utf8)
    default:
      return set(utf8)
  }
}

function flat(reply: unknown): unknown[] {
  if (reply instanceof Map)
    return [...reply.entries()].flatMap(([field, value]) => [...flat(field), ...flat(value)])
  if (Array.isArray(reply)) return reply.flatMap(flat)
  if (Buffer.isBuffer(reply) || typeof reply !== 'object' || reply === null) return [reply]
  return Object.entries(reply).flatMap(([field, value]) => [field, ...flat(value)])
}

function pairs(list: readonly string[], name: Words, value: Words): Record<string, string> {
  const found: Record<string, string> = {}
  for (let at = 0; at < list.length; at += 2) found[name(list[at] ?? '')] = value(list[at + 1] ?? '')
  return found
}

const same: Words = (text) => text
const utf8: Words = (text) => Buffer.from(text, 'latin1').toString()
const withoutNonce: Words = (text) => text.replace(/\/(\+?)[a-z0-9]+-[a-z0-9]+/, '/$1n')
const stamp: Words = (digits) => `#${numberOf(digits.slice(0, 7))}.${numberOf(digits.slice(7))}`
const stampOrId: Words = (text) => (text.length === 9 ? stamp(text) : text)
const member: Words = (text) =>
  text[9] === '~' ? `${stamp(text.slice(0, 9))} ${utf8(text.slice(10))}` : text
const place: Words = (key) => withoutNonce(utf8(key).replace(/^.*\}:(?:line|claim):/, ''))

const payload: Words = (text) => {
  const { topic, priority, producedAt, meta, body } = decodePayload(utf8(text))
  const itsStamp = text.startsWith('~') ? `${stamp(text.slice(1, 10))} ` : ''
  return `${itsStamp}at ${producedAt} ${priority} ${topic}|${meta}${body}`
}

const entry: Words = (text) => {
  if (text.includes('\n')) {
    const lines = text.trimEnd().split('\n')
    return `${lines.slice(0, -1).map(place).join(' ')} since ${lines.at(-1)}`
  }
  return text.replace(/ ([-\w]{9})(?=!|$)/, (_, digits: string) => ` ${stamp(digits)}`)
}

const integer = (text: string): number => Buffer.from(text, 'latin1').readUIntBE(0, text.length)

const failure: Words = (text) => {
  const [attempts, lapses, firstDueAt, dueAt, size] = [
    text.slice(0, 4),
    text.slice(4, 8),
    text.slice(8, 14),
    text.slice(14, 20),
    text.slice(20, 24),
  ].map(integer) as [number, number, number, number, number]
  const told = `${utf8(text.slice(24, 24 + size))}|${utf8(text.slice(24 + size))}`
  return `attempts ${attempts} lapses ${lapses} first ${firstDueAt} due ${dueAt} ${told}`
}
