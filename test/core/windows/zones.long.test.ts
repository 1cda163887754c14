/** P19: every zone, in the 48 hours around each change of its clocks from 2020 to 2035, against a slow reference. */
import { expect, it } from 'vitest'
import { daysOfChange, differencesAround } from './reference.ts'

it('P19: every zone: windows and local times are as the clock on the wall says', { timeout: 900_000 }, () => {
  const zones = [...Intl.supportedValuesOf('timeZone'), 'UTC']
  expect(zones.length).toBeGreaterThan(300)
  let changes = 0
  for (const zone of zones)
    for (const day of daysOfChange(zone, 2020, 2036)) {
      changes += 1
      expect(differencesAround(zone, day)).toEqual([])
    }
  expect(changes).toBeGreaterThan(3_000)
})
