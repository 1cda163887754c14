/**
 * Payloads and per-message policy as text. JSON, so that any tool can read what is stored; the envelope around it is
 * the engine's own and never JSON.
 */
import type { RetryPolicy } from '../machines/backoff.ts'
import { UsageError, describe, errorText } from '../errors.ts'
import type { SaidWhen } from '../windows/local.ts'
import type { TimeWindow } from '../windows/windows.ts'
import { findCycle, findLoss, type WrittenName } from './losses.ts'
import { parseTrace, type TraceOrigin } from './trace.ts'

export const PAYLOAD_BYTES_MAX = 1024 * 1024

/** `undefined` is a payload too: topics that need none. It is stored as the empty text, which is no JSON. */
export function encodePayload(payload: unknown, bytesMax: number): string {
  if (payload === undefined) return ''
  return toText(payload, 'payload', bytesMax)
}

function toText(value: unknown, name: WrittenName, bytesMax: number): string {
  const body = toJson(value, name)
  checkLoss(value, body, name)
  // A UTF-16 unit takes at most 3 bytes: most bodies pass without being measured.
  if (body.length * 3 > bytesMax) checkSize(body, name, bytesMax)
  return inOnePiece(body)
}

/**
 * V8 hands out the text of `JSON.stringify` in pieces, and keeps them as long as it lives: 95 bytes more for a body of
 * 200. Reading one character joins them. That costs nothing extra, because writing the text out joins them too.
 */
function inOnePiece(text: string): string {
  text.charCodeAt(0)
  return text
}

function toJson(payload: unknown, name: WrittenName): string {
  let body: string | undefined
  try {
    body = JSON.stringify(payload)
  } catch (cause) {
    const why = whyUnwritable(payload, name) ?? errorText(cause).split('\n')[0]
    throw new UsageError(
      'PAYLOAD_UNSERIALISABLE',
      `${name} cannot be written as JSON (${why}); remove cycles and bigints.`,
      { value: payload, cause },
    )
  }
  if (body === undefined) {
    throw new UsageError(
      'PAYLOAD_UNSERIALISABLE',
      `${name} is ${describe(payload)}, which JSON cannot carry; give plain data.`,
      { value: payload },
    )
  }
  return body
}

function whyUnwritable(payload: unknown, name: WrittenName): string | undefined {
  const cycle = findCycle(payload, name)
  if (cycle !== undefined) return `${cycle} is one of the objects around it`
  const loss = findLoss(payload, undefined, name)
  return loss === undefined ? undefined : `${loss.field} is ${loss.what}`
}

/** Refuses what would arrive as something else. */
function checkLoss(payload: unknown, body: string, name: WrittenName): void {
  const loss = findLoss(payload, body, name)
  if (loss === undefined) return
  throw new UsageError(
    'PAYLOAD_UNSERIALISABLE',
    `${loss.field} is ${loss.what}, which JSON cannot carry; ${loss.remedy}.`,
    { value: payload },
  )
}

function checkSize(body: string, name: WrittenName, bytesMax: number): void {
  const bytes = Buffer.byteLength(body)
  if (bytes <= bytesMax) return
  const remedy =
    name === 'payload'
      ? 'Store it elsewhere and send its key, or raise payloadLimit.'
      : 'Store it elsewhere and return its key.'
  throw new UsageError(
    'PAYLOAD_TOO_LARGE',
    `${name} has ${bytes} bytes as JSON; allowed: ${bytesMax}. ${remedy}`,
    { value: bytes },
  )
}

/** What is kept of what a handler returned. */
export const RESULT_BYTES_MAX = 16 * 1024

/** Throws as a payload does when it cannot be written, would lose something, or is too large. */
export function encodeResult(result: unknown): string {
  return result === undefined ? '' : toText(result, 'result', RESULT_BYTES_MAX)
}

export function decodePayload(body: string): unknown {
  return body === '' ? undefined : JSON.parse(body)
}

/** What a single message asks for beyond its queue and topic. */
export type MessagePolicy = {
  readonly ttlMs?: number
  /** 'dead' where it is not given. */
  readonly ifExpired?: 'skip'
  readonly timeoutMs?: number
  readonly retry?: RetryPolicy
  /** How long its id stays taken after it is done. */
  readonly rememberMs?: number
  /** Also kept apart, to find it by; here they come with each lease, so that no engine reads them for a claim. */
  readonly tags?: readonly string[]
  /** Its windows, and what was said of its moment. */
  readonly within?: readonly TimeWindow[]
  readonly said?: SaidWhen
  /** The moment that was asked for, where a window moved it when it was produced. */
  readonly movedFrom?: number
  /** Not asked for, but carried in the same place. */
  readonly trace?: TraceOrigin
}

const NO_POLICY: MessagePolicy = {}

export function encodePolicy(policy: MessagePolicy): string {
  const text = JSON.stringify(policy)
  return text === '{}' ? '' : text
}

/** Undefined when this text is not an encoded policy. Such damage may cost this one message and no other. */
export function decodePolicy(meta: string): MessagePolicy | undefined {
  if (meta === '') return NO_POLICY
  try {
    const policy: unknown = JSON.parse(meta)
    return isPolicy(policy) ? policy : undefined
  } catch {
    return undefined
  }
}

function isPolicy(value: unknown): value is MessagePolicy {
  if (!isRecord(value) || Array.isArray(value)) return false
  const { ttlMs, ifExpired, timeoutMs, rememberMs, retry, tags, trace, within, said, movedFrom } = value
  if (ifExpired !== undefined && ifExpired !== 'skip') return false
  if (trace !== undefined && !isTrace(trace)) return false
  if (tags !== undefined && !(Array.isArray(tags) && tags.every((tag) => typeof tag === 'string')))
    return false
  // What is in a window is checked by who reads it (`core/windows`).
  if (within !== undefined && !Array.isArray(within)) return false
  if (said !== undefined && !isRecord(said)) return false
  return (
    [ttlMs, timeoutMs, rememberMs, movedFrom].every(isOptionalNumber) &&
    (retry === undefined || isRetry(retry))
  )
}

function isTrace(value: unknown): value is TraceOrigin {
  return isRecord(value) && parseTrace(value.parent, value.state) !== undefined
}

function isRetry(value: unknown): value is RetryPolicy {
  if (!isRecord(value) || typeof value.limit !== 'number' || !isRecord(value.waits)) return false
  const { waits } = value
  if (Array.isArray(waits)) return waits.every((wait) => typeof wait === 'number')
  return ['baseMs', 'factor', 'capMs', 'jitter'].every((key) => typeof waits[key] === 'number')
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

function isOptionalNumber(value: unknown): boolean {
  return value === undefined || typeof value === 'number'
}
