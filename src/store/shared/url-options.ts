/** Options of a store on a server: behind the question mark of its URL, or given in code. */
import { UsageError, describe } from '../../core/errors.ts'
import { parseDuration, type Duration } from '../../core/input/duration.ts'

const TIMEOUT_MS = 5000
const TIMEOUT_RANGE = { min: 50, max: 600_000 }
export const TIMEOUT_OPTIONS = ['connectTimeout', 'callTimeout'] as const

/** How long one attempt to connect may take; how long a call waits before it fails. */
export type TimeoutSettings = { readonly connectTimeout?: Duration; readonly callTimeout?: Duration }
export type Timeouts = { readonly connectTimeoutMs: number; readonly callTimeoutMs: number }

export function readTimeouts({ connectTimeout, callTimeout }: TimeoutSettings): Timeouts {
  return {
    connectTimeoutMs: parseDuration(connectTimeout ?? TIMEOUT_MS, 'connectTimeout', TIMEOUT_RANGE),
    callTimeoutMs: parseDuration(callTimeout ?? TIMEOUT_MS, 'callTimeout', TIMEOUT_RANGE),
  }
}

/** Those of these options that are there, in milliseconds. */
export function readDurations<Name extends string>(
  query: URLSearchParams,
  names: readonly Name[],
): { readonly [name in Name]?: number } {
  const found: { [name in Name]?: number } = {}
  for (const name of names) {
    const text = query.get(name)
    if (text !== null) found[name] = parseDuration(numberOrText(text), name, TIMEOUT_RANGE)
  }
  return found
}

export function readWord<Word extends string>(
  query: URLSearchParams,
  name: string,
  words: readonly Word[],
): Word | undefined {
  const value = query.get(name)
  const word = words.find((one) => one === value)
  if (value === null || word !== undefined) return word
  throw invalidOption(name, value, words.join(' or '))
}

export function invalidOption(name: string, value: string, allowed: string): UsageError {
  return new UsageError(
    'OPTION_INVALID',
    `${name} in the store URL is ${describe(value)}; allowed: ${allowed}.`,
    { value },
  )
}

/** `migrate=false`: the tables are refused as they are, instead of migrated. */
export function readMigrate(query: URLSearchParams): { readonly migrate?: boolean } {
  const migrate = readWord(query, 'migrate', ['true', 'false'])
  return migrate === undefined ? {} : { migrate: migrate === 'true' }
}

/** `hintFor`: where else an option is known, in brackets behind its name. */
export function refuseUnknown(
  query: URLSearchParams,
  known: readonly string[],
  hintFor: (name: string) => string = () => '',
): void {
  for (const name of query.keys()) {
    if (known.includes(name)) continue
    throw new UsageError(
      'OPTION_UNKNOWN',
      `the store URL has the option ${describe(name)}${hintFor(name)}; allowed here: ${known.join(', ')}.`,
      { value: name },
    )
  }
}

export function numberOrText(text: string): number | string {
  return /^\d+$/.test(text) ? Number(text) : text
}
