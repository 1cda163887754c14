/**
 * Tokens: 256 bits of chance that a client sends, of which the server knows the SHA-256. Several may live at once, so that
 * one can be replaced by another without a gap.
 *
 *   ptk_<43 characters of base64url>
 *
 * A digest is looked up and then compared in constant time. Looking up tells nothing about a token: one who cannot choose
 * the digest learns only whether a guess of 256 bits was right.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import { describe, UsageError } from '../../../core/errors.ts'
import { checkRecord } from '../../../core/input/checks.ts'
import type { Random } from '../../../random.ts'
import { mayUseTopic, SCOPES, type Caller, type Scope } from './caller.ts'

export const TOKEN_PREFIX = 'ptk_'
const TOKEN_BYTES = 32

/** As it is stored: in a file, or given to `serve`. */
export type TokenRecord = {
  readonly name: string
  /** SHA-256 of the token, in hexadecimal. */
  readonly hash: string
  readonly scopes: readonly Scope[]
  readonly queues?: readonly string[]
  readonly topicPrefix?: string
  /** Epoch milliseconds. */
  readonly expiresAt?: number
  readonly createdAt?: number
}

export function makeToken(random: Random): string {
  const bytes = Buffer.from(Array.from({ length: TOKEN_BYTES }, () => Math.floor(random.next() * 256)))
  return TOKEN_PREFIX + bytes.toString('base64url')
}

export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}

/** So many callers are remembered with the token that they sent. */
const REMEMBERED_MAX = 100

export class Tokens {
  readonly #byHash = new Map<string, { readonly caller: Caller; readonly digest: Buffer }>()
  /**
   * Tokens that were right before, so that a busy client is not hashed anew with each call. Only right ones are kept: a guess
   * finds nothing here, and is hashed. Finding a text in a map compares a hash of it that is seeded for each process, so
   * that how long it takes tells nothing about how much of a guess is right.
   */
  readonly #remembered = new Map<string, Caller>()

  constructor(records: readonly TokenRecord[]) {
    for (const { hash, createdAt: _, ...caller } of records)
      this.#byHash.set(hash, { caller, digest: Buffer.from(hash, 'hex') })
  }

  get size(): number {
    return this.#byHash.size
  }

  /** Undefined: unknown, or expired. */
  find(token: string, now: number): Caller | undefined {
    const caller = this.#remembered.get(token) ?? this.#recognise(token)
    return caller !== undefined && (caller.expiresAt ?? Infinity) > now ? caller : undefined
  }

  #recognise(token: string): Caller | undefined {
    const digest = createHash('sha256').update(token).digest()
    const found = this.#byHash.get(digest.toString('hex'))
    if (found === undefined || !timingSafeEqual(found.digest, digest)) return undefined
    if (this.#remembered.size >= REMEMBERED_MAX) this.#remembered.clear()
    this.#remembered.set(token, found.caller)
    return found.caller
  }

  /** By the hash alone: for a session, which remembers it. */
  findHash(hash: string, now: number): Caller | undefined {
    const found = this.#byHash.get(hash)
    return found !== undefined && (found.caller.expiresAt ?? Infinity) > now ? found.caller : undefined
  }
}

const HASH = /^[0-9a-f]{64}$/
const NAME = /^[\x21-\x7e]{1,60}$/
const KEYS = ['name', 'hash', 'scopes', 'queues', 'topicPrefix', 'expiresAt', 'createdAt'] as const

export function parseTokenRecord(value: unknown, at: string): TokenRecord {
  const { name, hash, scopes, queues, topicPrefix, expiresAt, createdAt } = checkRecord(value, at, KEYS)
  const isFine =
    typeof name === 'string' &&
    NAME.test(name) &&
    typeof hash === 'string' &&
    HASH.test(hash) &&
    isTexts(scopes) &&
    scopes.length > 0 &&
    scopes.every((scope) => (SCOPES as readonly string[]).includes(scope)) &&
    (queues === undefined || isTexts(queues)) &&
    (topicPrefix === undefined || typeof topicPrefix === 'string') &&
    isOptionalMoment(expiresAt) &&
    isOptionalMoment(createdAt)
  if (!isFine)
    throw new UsageError(
      'OPTION_INVALID',
      `${at} is ${describe(value)}; give { name, hash (SHA-256 in hexadecimal), scopes of: ${SCOPES.join(', ')}, queues?, topicPrefix?, expiresAt? }.`,
      { value: name },
    )
  return value as TokenRecord
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}

function isOptionalMoment(value: unknown): boolean {
  return value === undefined || (typeof value === 'number' && Number.isFinite(value))
}

/** Those of the topics that the token is not for. */
export function foreignTopics(who: Caller, topics: readonly string[]): readonly string[] {
  return topics.filter((topic) => !mayUseTopic(who, topic))
}
