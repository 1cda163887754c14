/**
 * The whole key space of a queue, in words: for tests that compare what a script left behind with what it found.
 *
 *   delay_tasks   { '#2 a': 1500 }            seq and id -> dueAt, 'aside 1500' for what was set aside
 *   payload       { a: '#2 of #3 1:{}' }      seq, topic number, tail
 *   running       { a: 'due 1500 attempt 1 of #3 token 7.n' }
 */
import { RESP_TYPES, createClient } from 'redis'
import { queueKeys } from '../../../src/store/redis/scripts/keys.ts'

export type Dump = Readonly<Record<string, Readonly<Record<string, string>>>>

const ASIDE = 2 ** 52

export async function dump(url: string, queue: string): Promise<Dump> {
  const client = await createClient({ url }).connect()
  try {
    // Bytes as characters: counts and attempts are not text.
    const bytes = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer })
    const read = async (command: string[]): Promise<string[]> => {
      const reply = (await bytes.sendCommand(command)) as unknown
      return flat(reply).map((part) => (Buffer.isBuffer(part) ? part.toString('latin1') : String(part)))
    }
    const found: Record<string, Record<string, string>> = {}
    for (const key of queueKeys(queue)) {
      const name = key.slice(key.indexOf('}:') + 2)
      const entries = await entriesOf(name, key, read)
      if (Object.keys(entries).length > 0) found[name] = entries
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

async function entriesOf(name: string, key: string, read: Read): Promise<Record<string, string>> {
  switch (name) {
    case 'sequence':
      return (await read(['EXISTS', key]))[0] === '0' ? {} : { last: (await read(['GET', key]))[0] ?? '' }
    case 'pending':
      return Object.fromEntries(
        (await read(['ZRANGE', key, '0', '-1'])).map((member) => [inLine(member), '']),
      )
    case 'leases':
    case 'dead':
      return pairs(await read(['ZRANGE', key, '0', '-1', 'WITHSCORES']), utf8, (score) => score)
    case 'payload':
      return pairs(await read(['HGETALL', key]), utf8, payload)
    case 'running':
      return pairs(await read(['HGETALL', key]), utf8, record)
    case 'failures':
      return pairs(await read(['HGETALL', key]), utf8, failure)
    case 'topics':
      return pairs(await read(['HGETALL', key]), number, topic)
    case 'topic_numbers':
      return pairs(await read(['HGETALL', key]), utf8, number)
    default:
      return pairs(await read(['ZRANGE', key, '0', '-1', 'WITHSCORES']), member, moment)
  }
}

function flat(reply: unknown): unknown[] {
  if (reply instanceof Map)
    return [...reply.entries()].flatMap(([field, value]) => [...flat(field), ...flat(value)])
  if (Array.isArray(reply)) return reply.flatMap(flat)
  if (Buffer.isBuffer(reply) || typeof reply !== 'object' || reply === null) return [reply]
  return Object.entries(reply).flatMap(([field, value]) => [field, ...flat(value)])
}

function pairs(
  list: readonly string[],
  name: (text: string) => string,
  value: (text: string) => string,
): Record<string, string> {
  const found: Record<string, string> = {}
  for (let at = 0; at < list.length; at += 2) found[name(list[at] ?? '')] = value(list[at + 1] ?? '')
  return found
}

const integer = (text: string): number => Buffer.from(text, 'latin1').readUIntBE(0, text.length)
const DIGITS = '-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz'
const digits = (text: string): number =>
  Array.from(text).reduce((value, digit) => value * DIGITS.length + DIGITS.indexOf(digit), 0)
const number = (text: string): string => `#${digits(text)}`
const utf8 = (text: string): string => Buffer.from(text, 'latin1').toString()
const member = (text: string): string => `${number(text.slice(0, 8))} ${utf8(text.slice(8))}`
const moment = (score: string): string => (Number(score) < 0 ? `aside ${Number(score) + ASIDE}` : score)
const payload = (text: string): string =>
  `${number(text.slice(0, 8))} of ${number(text.slice(8, 16))} ${utf8(text.slice(16))}`

function inLine(text: string): string {
  const [topicNumber, priority, dueAt] = [text.slice(0, 8), text[8], text.slice(9, 17)]
  return `${number(topicNumber)} priority ${priority} due ${digits(dueAt)} ${member(text.slice(17))}`
}

function record(text: string): string {
  const token = text.slice(66).replace(/\..*/, '.n')
  const topicNumber = number(text.slice(10, 18))
  return `due ${integer(text.slice(0, 6))} attempt ${integer(text.slice(6, 10))} of ${topicNumber} token ${token}`
}

function failure(text: string): string {
  const size = integer(text.slice(10, 14))
  const told = `${utf8(text.slice(14, 14 + size))}|${utf8(text.slice(14 + size))}`
  return `attempts ${integer(text.slice(0, 4))} due ${integer(text.slice(4, 10))} ${told}`
}

function topic(text: string): string {
  const [waiting, running, dead] = [0, 6, 12].map((at) => integer(text.slice(at, at + 6)))
  return `${waiting} waiting ${running} running ${dead} dead ${utf8(text.slice(18))}`
}
