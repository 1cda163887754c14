/**
 * Somebody who changes keys of a queue behind its back: bytes, members, scores, whole keys. Knows nothing of what they
 * mean: finds them by SCAN and TYPE, so that another layout is damaged just as well.
 */
import { RESP_TYPES, createClient } from 'redis'

/** Numbers from 0 to 1 decide everything, so that a property test can draw and shrink them. */
export type Damage = {
  readonly key: number
  readonly entry: number
  readonly deed: number
  readonly detail: number
  readonly garbage: Uint8Array
}

export type Done = {
  /** What was done, for the message of a failing test. */
  readonly what: string
  /** One entry was touched, and these are its bytes; undefined: a whole key. */
  readonly bytes?: Buffer
  /** The key has another type than its owner knows. */
  readonly isWrongType: boolean
}

type Word = string | Buffer
type Send = (...words: Word[]) => Promise<unknown>

const SCORES = ['inf', '-inf', '0', '-1', '1.5', '1e15', '-4503599627370496', '1e300', '9007199254740993']

export async function vandalise(url: string, queue: string, damage: Damage): Promise<Done> {
  const client = await createClient({ url }).connect()
  try {
    const bytes = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer })
    const send: Send = (...words) => bytes.sendCommand(words)
    const key = pick(await keysOf(send, queue), damage.key)
    if (key === undefined) return { what: 'nothing to damage', isWrongType: false }
    const name = key.slice(key.lastIndexOf('}') + 1)
    const type = String(await send('TYPE', key))
    if (damage.deed < 0.08) {
      await send('DEL', key)
      return { what: `deleted the key ${name}`, isWrongType: false }
    }
    if (damage.deed < 0.12) return await retype(send, key, name, type)
    const done = await (ENTRY_DEEDS[type] ?? nothing)(send, key, damage)
    return { ...done, what: `${name} (${type}): ${done.what}`, isWrongType: false }
  } finally {
    client.destroy()
  }
}

async function keysOf(send: Send, queue: string): Promise<string[]> {
  const keys: string[] = []
  let cursor = '0'
  do {
    const [next, page] = (await send('SCAN', cursor, 'MATCH', '*', 'COUNT', '1000')) as [Word, Word[]]
    cursor = String(next)
    keys.push(...page.map(String).filter((key) => key.includes(`{${queue}}`)))
  } while (cursor !== '0')
  return keys.toSorted()
}

/** In one step: a worker might make the key again in between. */
const RETYPE = `
redis.call('DEL', KEYS[1])
if ARGV[1] == 'hash' then
  return redis.call('RPUSH', KEYS[1], 'x')
end
return redis.call('HSET', KEYS[1], 'x', 'y')`

async function retype(send: Send, key: string, name: string, type: string): Promise<Done> {
  await send('EVAL', RETYPE, '1', key, type)
  return { what: `${name} has another type`, isWrongType: true }
}

type EntryDone = { readonly what: string; readonly bytes?: Buffer }
type EntryDeed = (send: Send, key: string, damage: Damage) => Promise<EntryDone>

/** A worker was quicker. */
const GONE: EntryDone = { what: 'was gone already' }

const ENTRY_DEEDS: Readonly<Record<string, EntryDeed>> = {
  string: async (send, key, damage) => {
    const found = (await send('GET', key)) as Buffer | null
    if (found === null) return GONE
    const value = spoil(found, damage)
    await send('SET', key, value)
    return { what: `is ${show(value)}` }
  },
  hash: async (send, key, damage) => {
    const field = pick((await send('HKEYS', key)) as Buffer[], damage.entry) ?? Buffer.alloc(0)
    const value = (await send('HGET', key, field)) as Buffer | null
    if (value === null) return GONE
    const bytes = Buffer.concat([field, value])
    if (damage.detail < 0.2) {
      await send('HDEL', key, field)
      return { what: `without ${show(field)}`, bytes }
    }
    if (damage.detail < 0.3) {
      await send('HSET', key, Buffer.from(damage.garbage), Buffer.from(damage.garbage))
      return { what: `with garbage beside ${show(field)}`, bytes: Buffer.from(damage.garbage) }
    }
    const spoilt = spoil(value, damage)
    await send('HSET', key, field, spoilt)
    return { what: `${show(field)}: ${show(value)} became ${show(spoilt)}`, bytes }
  },
  zset: async (send, key, damage) => {
    const all = flat(await send('ZRANGE', key, '0', '-1', 'WITHSCORES'))
    const at = Math.floor(damage.entry * (all.length / 2)) * 2
    const [member, score] = [all[at] as Buffer | undefined, String(all[at + 1])]
    if (member === undefined) return GONE
    if (damage.detail < 0.2) {
      await send('ZREM', key, member)
      return { what: `without ${show(member)}`, bytes: member }
    }
    if (damage.detail < 0.6) {
      const other = pick(SCORES, (damage.detail - 0.2) / 0.4) ?? '0'
      await send('ZADD', key, other, member)
      return { what: `${show(member)} at ${other} instead of ${score}`, bytes: member }
    }
    const spoilt = spoil(member, damage)
    if (damage.detail < 0.9) await send('ZREM', key, member)
    await send('ZADD', key, score, spoilt)
    return { what: `${show(member)} became ${show(spoilt)}`, bytes: member }
  },
}

const nothing: EntryDeed = async () => GONE

/** Cut short, one byte changed, replaced, lengthened. */
function spoil(value: Buffer, { garbage, detail }: Damage): Buffer {
  const [first = 0, second = 0] = garbage
  const kind = Math.floor(detail * 1_000) % 4
  if (kind === 0) return value.subarray(0, value.length === 0 ? 0 : first % value.length)
  if (kind === 1 && value.length > 0) {
    const changed = Buffer.from(value)
    changed[first % value.length] = second
    return changed
  }
  return kind === 2 ? Buffer.from(garbage) : Buffer.concat([value, Buffer.from(garbage)])
}

function pick<T>(list: readonly T[], share: number): T | undefined {
  return list[Math.min(list.length - 1, Math.floor(share * list.length))]
}

function show(bytes: Buffer): string {
  return JSON.stringify(bytes.toString('latin1'))
}

function flat(reply: unknown): unknown[] {
  if (Buffer.isBuffer(reply) || typeof reply !== 'object' || reply === null) return [reply]
  return Array.isArray(reply) ? reply.flatMap(flat) : []
}
