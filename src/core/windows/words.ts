/**
 * Windows, local times and working days as one text each, for command lines, headers and pages:
 *
 *   09:00 Europe/Berlin      2026-12-01 09:00 Europe/Berlin      3 workdays,09:00,except de,Europe/Berlin
 *   08:00-20:00,mon-fri,except de,except 12-24,Europe/Berlin     each part but the zone may be left out
 *
 * What stands in the parts is checked by who reads the whole.
 */
import type { LocalTime, SaidWhen, Workdays } from './local.ts'
import type { TimeWindow } from './windows.ts'

const LOCAL = /^((?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d(?::\d\d)?) ([A-Za-z]\S*)$/
const HOURS = /^(\d\d:\d\d)-(\d\d:\d\d)$/
const TIME = /^\d\d:\d\d$/
const DAYS = /^[a-z]{3}(?:-[a-z]{3})?$/
const EXCEPT = /^except (.+)$/
const WORKDAYS = /^(\d{1,9}) workdays?$/

/** Undefined for another text, such as a moment with an offset. */
export function readLocalTime(text: string): LocalTime | undefined {
  const [, local, zone] = LOCAL.exec(text) ?? []
  return local === undefined || zone === undefined ? undefined : { local, zone }
}

/** Undefined for what has a part too many. */
export function readWindow(text: string): TimeWindow | undefined {
  const { hours, days, except, zone, isOdd } = readParts(text)
  const [, from, to] = hours
  if (isOdd || zone === undefined) return undefined
  return {
    ...(from === undefined || to === undefined ? {} : { from, to }),
    ...(days.length === 0 ? {} : { days: days.join(',') }),
    ...(except.length === 0 ? {} : { except }),
    zone,
  }
}

export function readWorkdays(text: string): Workdays | undefined {
  const [first = '', ...rest] = text.split(',')
  const [, count] = WORKDAYS.exec(first.trim()) ?? []
  const { hours, days, time, except, zone, isOdd } = readParts(rest.join(','))
  if (count === undefined || isOdd || zone === undefined || hours.length > 0 || days.length > 0)
    return undefined
  return {
    workdays: Number(count),
    ...(time === undefined ? {} : { at: time }),
    ...(except.length === 0 ? {} : { except }),
    zone,
  }
}

type Parts = {
  hours: readonly string[]
  readonly days: string[]
  time: string | undefined
  readonly except: string[]
  zone: string | undefined
  isOdd: boolean
}

function readParts(text: string): Parts {
  const parts: Parts = { hours: [], days: [], time: undefined, except: [], zone: undefined, isOdd: false }
  for (const part of text.split(',').map((one) => one.trim())) {
    const [hours, excepted] = [HOURS.exec(part), EXCEPT.exec(part)?.[1]]
    if (hours !== null && parts.hours.length === 0) parts.hours = hours
    else if (excepted !== undefined) parts.except.push(excepted)
    else if (DAYS.test(part)) parts.days.push(part)
    else if (TIME.test(part)) parts.time = part
    else if (parts.zone === undefined && part !== '') parts.zone = part
    else parts.isOdd = true
  }
  return parts
}

export function windowText({ from, to, days, except, zone }: TimeWindow): string {
  const hours = from === undefined && to === undefined ? [] : [`${from ?? '00:00'}-${to ?? '24:00'}`]
  return [...hours, ...(days === undefined ? [] : [days]), ...exceptTexts(except), zone].join(',')
}

export function saidText(said: SaidWhen): string {
  if ('at' in said) return `${said.at.local} ${said.at.zone}`
  const { workdays, at, except, zone } = said.after
  const count = `${workdays} workday${workdays === 1 ? '' : 's'}`
  return [count, ...(at === undefined ? [] : [at]), ...exceptTexts(except), zone].join(',')
}

function exceptTexts(except: TimeWindow['except']): string[] {
  const list = typeof except === 'string' ? [except] : (except ?? [])
  return list.map((one) => `except ${one}`)
}

const WEEKDAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']
const WEEK_MS = 7 * 86_400_000

/** `Mon 08:00 (Europe/Berlin)`, with the date where it is not within a week. `wall`: what the clock there shows at `at`. */
export function openingText(
  at: number,
  wall: number,
  { zone, now }: { readonly zone: string; readonly now: number },
): string {
  const shown = new Date(wall)
  const text = shown.toISOString()
  const date = at - now < WEEK_MS ? '' : ` ${text.slice(0, 10)}`
  return `${WEEKDAYS[shown.getUTCDay()]}${date} ${text.slice(11, 16)} (${zone})`
}
