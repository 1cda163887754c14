/** Moments, windows and working days of a command line, a header or a line of JSON, where they are texts. */
import { describe } from '../../core/errors.ts'
import { readLocalTime, readWindow, readWorkdays } from '../../core/windows/words.ts'
import type { LocalTime, TimeWindow, Workdays } from '../../index.ts'
import { CallError } from './failure.ts'
import { parseMomentText } from './moment.ts'

/** `09:00 Europe/Berlin`, or a moment. */
export function parseAtText(text: string, name: string): number | LocalTime {
  return readLocalTime(text) ?? parseMomentText(text, name)
}

export function parseWindowText(text: string, name: string): TimeWindow {
  const window = readWindow(text)
  if (window !== undefined) return window
  throw new CallError(
    `${name} is ${describe(text)}; write 08:00-20:00,mon-fri,except 12-25,Europe/Berlin, where only the zone must stand.`,
  )
}

export function parseWorkdaysText(text: string, name: string): Workdays {
  const workdays = readWorkdays(text)
  if (workdays !== undefined) return workdays
  throw new CallError(
    `${name} is ${describe(text)}; write 3 workdays,09:00,except 12-25,Europe/Berlin, where the time and exceptions may be left out.`,
  )
}
