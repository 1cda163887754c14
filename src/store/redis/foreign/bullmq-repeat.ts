/**
 * What repeats in BullMQ, of three layouts:
 *
 *   job scheduler           repeat:ID, a hash with all of it; ID is the user's
 *   repeatable job          repeat:HASH with name and rhythm; HASH is that of NAME:JOB-ID:END:ZONE:RHYTHM, or `repeat.key`
 *   one from before 5.10    the key is NAME:JOB-ID:END:ZONE:RHYTHM itself, often without a hash
 *
 * Newer workers (5.35, not 5.12) turn a repeatable job into half a scheduler when it first runs: they add `data`, and `ic`, to the
 * hash. The hash does not tell the kind therefore; the key does, because it follows from what the job repeats. In every layout the
 * next job carries `opts.repeat`: the rhythm, `limit`, and `count`, which is 1 in the first job. A worker makes no job after the
 * one whose `count` is `limit`.
 */
import { createHash } from 'node:crypto'
import { readNumber, readObject } from './reading.ts'

export const REPEAT = [
  'name',
  'pattern',
  'every',
  'tz',
  'limit',
  'ic',
  'startDate',
  'endDate',
  'data',
  'opts',
] as const

export type RepeatFields = Readonly<Record<(typeof REPEAT)[number], string>>
/** `opts.repeat` of a job. */
type RepeatOptions = Readonly<Record<string, unknown>>

/** By the length of what they make in hexadecimal digits; md5 unless `repeatKeyHashAlgorithm` says otherwise. */
const DIGESTS: Readonly<Record<number, string>> = { 32: 'md5', 40: 'sha1', 64: 'sha256', 128: 'sha512' }

export function nextJobId(key: string, at: number): string {
  return `repeat:${key}:${at}`
}

/** `rjk`: the key, as its job names it. Before 5.10 the id has a hash or `repeat.key` instead. */
export function occurrenceOf(
  id: string,
  rjk = '',
): { readonly key: string; readonly at: number } | undefined {
  const [, key = '', at] = /^repeat:(.+):(\d+)$/s.exec(id) ?? []
  return at === undefined ? undefined : { key: rjk || key, at: Number(at) }
}

/** Empty for a job that does not repeat. */
export function repeatOf(opts: string): RepeatOptions {
  const repeat = readObject(opts)?.['repeat']
  return typeof repeat === 'object' && repeat !== null ? (repeat as RepeatOptions) : {}
}

/** With what the next job says, where the hash lacks it. */
export function filled(fields: RepeatFields, repeat: RepeatOptions): RepeatFields {
  const or = (name: (typeof REPEAT)[number]): string => fields[name] || textOf(repeat[name])
  return {
    ...fields,
    pattern: or('pattern'),
    every: or('every'),
    tz: or('tz'),
    startDate: or('startDate'),
    endDate: or('endDate'),
  }
}

/** A key that BullMQ made is not a name, and the job's name with the beginning of its hash is. */
export function scheduleNameOf(key: string, jobName: string, repeat: RepeatOptions): string {
  const parts = [
    jobName,
    textOf(repeat['jobId']),
    momentOf(textOf(repeat['endDate'])) ?? '',
    textOf(repeat['tz']),
    textOf(repeat['pattern']) || textOf(repeat['every']),
  ]
  const made = parts.join(':')
  const hash = key === made ? hashOf(key, 'md5') : key
  const isMade = key === made || key === hashOf(made, DIGESTS[key.length])
  return isMade ? `${jobName}:${hash.slice(0, 8)}` : key
}

/** Whether hash and key tell its name and its data, although its next job is gone. */
export function isWhole(key: string, { data, opts, ic }: RepeatFields): boolean {
  const isMade = DIGESTS[key.length] !== undefined && /^[\da-f]+$/.test(key)
  return !isMade && (data !== '' || opts !== '' || ic !== '')
}

/**
 * How many are left; undefined: no limit is known. The next job is counted already. Where that is a job by itself, the schedule
 * here brings the ones after it only. `behind`: so many jobs before the one that `repeat` is of, our schedule begins.
 */
export function timesLeft(
  { limit, ic }: RepeatFields,
  repeat: RepeatOptions,
  { isNextApart, behind }: { readonly isNextApart: boolean; readonly behind: number },
): number | undefined {
  const most = readNumber(repeat['limit']) ?? readNumber(limit)
  if (most === undefined) return undefined
  // `ic` counts from the moment at which the scheduler was set, or a worker turned a repeatable job into one.
  const made = (readNumber(repeat['count']) ?? readNumber(ic) ?? 0) - behind
  return Math.max(0, most - (isNextApart ? made : Math.max(0, made - 1)))
}

/** Milliseconds, or a date as text. */
export function momentOf(text: string): number | undefined {
  if (text === '') return undefined
  const at = readNumber(text) ?? Date.parse(text)
  return Number.isFinite(at) ? at : undefined
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : ''
}

function hashOf(text: string, algorithm: string | undefined): string {
  return algorithm === undefined ? '' : createHash(algorithm).update(text).digest('hex')
}
