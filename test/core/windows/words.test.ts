/** Windows, local times and working days as one text, and back. */
import { describe, expect, it } from 'vitest'
import {
  openingText,
  readLocalTime,
  readWindow,
  readWorkdays,
  saidText,
  windowText,
} from '../../../src/core/windows/words.ts'

const ZONE = 'Europe/Berlin'

describe('words', () => {
  it.each([
    [
      '08:00-20:00,mon-fri,except de,except 12-24,Europe/Berlin',
      { from: '08:00', to: '20:00', days: 'mon-fri', except: ['de', '12-24'], zone: ZONE },
    ],
    ['mon,wed,UTC', { days: 'mon,wed', zone: 'UTC' }],
    ['UTC', { zone: 'UTC' }],
  ])('%s', (text, window) => {
    expect(readWindow(text)).toEqual(window)
    expect(windowText(window)).toBe(text)
  })

  it.each(['', 'UTC,UTC', '08:00-20:00', '08:00-20:00,09:00-10:00,UTC'])('no window: %j', (text) => {
    const read = readWindow(text)
    // What is read as a zone is none, and is refused by who reads the zone.
    expect(read === undefined || read.zone !== 'UTC').toBe(true)
  })

  it.each([
    ['3 workdays,09:00,except de,Europe/Berlin', { workdays: 3, at: '09:00', except: ['de'], zone: ZONE }],
    ['1 workday,UTC', { workdays: 1, zone: 'UTC' }],
  ])('%s', (text, after) => {
    expect(readWorkdays(text)).toEqual(after)
    expect(saidText({ after })).toBe(text)
  })

  it.each(['3 days,UTC', '3 workdays', '3 workdays,mon,UTC', '3 workdays,08:00-09:00,UTC', 'UTC'])(
    'no working days: %s',
    (text) => {
      expect(readWorkdays(text)).toBeUndefined()
    },
  )

  it('a local time is a time and a zone; a moment is none', () => {
    expect(readLocalTime('09:00 Europe/Berlin')).toEqual({ local: '09:00', zone: ZONE })
    expect(readLocalTime('2026-12-01T09:00 UTC')).toEqual({ local: '2026-12-01T09:00', zone: 'UTC' })
    for (const text of ['2026-12-01T09:00Z', '2026-12-01 09:00', '09:00', '1893488400000'])
      expect(readLocalTime(text)).toBeUndefined()
    expect(saidText({ at: { local: '09:00', zone: ZONE } })).toBe('09:00 Europe/Berlin')
  })

  it('an opening is a day of the week, with its date where that is not clear', () => {
    const at = Date.UTC(2030, 0, 7, 7)
    const wall = Date.UTC(2030, 0, 7, 8)
    const day = 86_400_000
    expect(openingText(at, wall, { zone: ZONE, now: at - day })).toBe('Mon 08:00 (Europe/Berlin)')
    expect(openingText(at, wall, { zone: ZONE, now: at - 8 * day })).toBe(
      'Mon 2030-01-07 08:00 (Europe/Berlin)',
    )
  })
})
