/** What a bulk call asks for: an action, and the one filter that the library and the command line have. */
import { createHash } from 'node:crypto'
import { filterOf as libraryFilter, parseFilter } from '../../../core/input/filter.ts'
import type { Filter, MessageState, RescheduleOptions } from '../../../index.ts'
import { CallError } from '../../shared/failure.ts'
import { SEARCH_FIELDS } from '../routes/shapes.ts'
import { named } from '../schema/named.ts'
import {
  duration,
  list,
  literal,
  moment,
  object,
  oneOf,
  optional,
  text,
  whole,
  type Checked,
} from '../schema/schema.ts'

export const BULK_ACTIONS = ['cancel', 'reschedule', 'revive', 'purge'] as const
export type BulkAction = (typeof BULK_ACTIONS)[number]

export const BULK_FILTER = named(
  'BulkFilter',
  object({
    ids: optional(list(text(), { max: 10_000 })),
    ...SEARCH_FIELDS,
    group: optional(text({ about: 'the key of a group of dead messages; goes with state "dead"' })),
    limit: optional(whole({ min: 1 })),
  }),
)
export type BulkFilter = Checked<typeof BULK_FILTER>

export const BULK = named(
  'Bulk',
  object({
    action: oneOf(...BULK_ACTIONS),
    filter: BULK_FILTER,
    delay: optional(duration()),
    at: optional(moment()),
    spread: optional(duration()),
    rate: optional(text({ about: 'for revive: so many a second, 50/1s' })),
    dryRun: optional(literal(true)),
    confirm: optional(text()),
  }),
)
export type AskedBulk = Checked<typeof BULK>

/** The states that an action can change. */
const STATES: Readonly<Record<BulkAction, readonly MessageState[]>> = {
  cancel: ['delayed', 'ready'],
  reschedule: ['delayed', 'ready'],
  revive: ['dead'],
  purge: ['delayed', 'ready', 'dead'],
}

/** Says at once what the library would say after the confirmation. */
export function checkBulk({ action, filter, delay, at, spread, rate }: AskedBulk, now: number): void {
  parseFilter(filterOf(filter), STATES[action], now)
  const hasMoment = delay !== undefined || at !== undefined
  if (action === 'reschedule' && !hasMoment) throw new CallError('reschedule needs delay or at.')
  if (action !== 'reschedule' && (hasMoment || spread !== undefined))
    throw new CallError(`delay, at and spread go with reschedule, not with ${action}.`)
  if (rate !== undefined && action !== 'revive') throw new CallError('rate goes with revive.')
  if (rate !== undefined) perSecond(rate)
  if (filter.group === undefined) return
  if (action !== 'revive' && action !== 'purge') throw new CallError('group goes with revive and purge.')
  if (filter.state !== 'dead') throw new CallError('group goes with state "dead".')
}

/** The filter as the library takes it. */
export function filterOf(asked: BulkFilter): Filter {
  const { group: _, ...parts } = asked
  return libraryFilter(parts)
}

export function momentOf({ delay, at, spread }: AskedBulk): RescheduleOptions {
  return {
    ...(delay === undefined ? {} : { delay }),
    ...(at === undefined ? {} : { at }),
    ...(spread === undefined ? {} : { spread }),
  } as RescheduleOptions
}

const RATE = /^(\d{1,6})\/(?:1?s)$/

/** How many a second. */
export function perSecond(rate: string): number {
  const count = Number(RATE.exec(rate)?.[1] ?? 0)
  if (count > 0) return count
  throw new CallError('rate is so many a second: "50/1s".')
}

/** The same for the same call, in whatever order its fields came; what is confirmed is confirmed for this alone. */
export function fingerprintOf({ dryRun: _dry, confirm: _confirm, ...asked }: AskedBulk): string {
  return createHash('sha256')
    .update(JSON.stringify(sorted(asked)))
    .digest('base64url')
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([, part]) => part !== undefined)
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([k, v]) => [k, sorted(v)]))
}
