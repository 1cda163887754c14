/** Moments on the wall of a zone, windows, and working days: as an object, or as the text that the command line takes. */
import type { LocalTime, TimeWindow, Within, Workdays } from '../../../index.ts'
import { parseWindowText, parseWorkdaysText } from '../../shared/local-words.ts'
import { readLocalTime } from '../../../core/windows/words.ts'
import { named } from './named.ts'
import { either, list, moment, object, optional, text, whole, type Shape } from './schema.ts'

const LOCAL = named(
  'LocalTime',
  object({
    local: text({ about: '2026-12-01 09:00, or 09:00 for the next; the clock on the wall of the zone' }),
    zone: text(),
  }),
)

const EXCEPT = either(text(), list(text(), { max: 400 }))

export const WINDOW = named(
  'Window',
  object({
    from: optional(text()),
    to: optional(text()),
    days: optional(text({ about: 'mon-fri, or mon,wed,sat-sun' })),
    except: optional(EXCEPT),
    zone: text(),
  }),
)

export const WORKDAYS = named(
  'Workdays',
  object({ workdays: whole({ min: 1 }), at: optional(text()), except: optional(EXCEPT), zone: text() }),
)

/** What `get` shows of how the moment of a message was said. */
export const SAID = either(object({ at: LOCAL }), object({ after: WORKDAYS }))

/** A moment, or `09:00 Europe/Berlin`. */
export function momentOrLocal(): Shape<number | LocalTime> {
  const plain = moment()
  return {
    json: { oneOf: [plain.json, LOCAL.json, { type: 'string', description: 'such as 09:00 Europe/Berlin' }] },
    check: (value, at) => {
      if (typeof value === 'object') return LOCAL.check(value, at)
      return (typeof value === 'string' ? readLocalTime(value) : undefined) ?? plain.check(value, at)
    },
  }
}

export function workdays(): Shape<Workdays> {
  return {
    json: {
      oneOf: [WORKDAYS.json, { type: 'string', description: 'such as 3 workdays,09:00,Europe/Berlin' }],
    },
    check: (value, at) =>
      typeof value === 'string' ? parseWorkdaysText(value, at) : WORKDAYS.check(value, at),
  }
}

export function within(): Shape<Within> {
  const one: Shape<TimeWindow> = {
    json: {
      oneOf: [WINDOW.json, { type: 'string', description: 'such as 08:00-20:00,mon-fri,Europe/Berlin' }],
    },
    check: (value, at) => (typeof value === 'string' ? parseWindowText(value, at) : WINDOW.check(value, at)),
  }
  const many = list(one, { max: 7 })
  return {
    json: { oneOf: [...(one.json['oneOf'] as unknown[]), many.json] },
    check: (value, at) => (Array.isArray(value) ? many.check(value, at) : one.check(value, at)),
  }
}
