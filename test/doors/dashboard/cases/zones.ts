/** Times as the clock of the chosen zone shows them, also in the week in which the clocks are changed. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { settled, until, type Surfer } from '../browser.ts'
import { openWorld, type World } from '../world.ts'

const at = (text: string): number => Date.parse(text)

/** The clocks of Berlin go from 02:00 to 03:00 on 2027-03-28. */
const MOMENTS = [
  ['2027-03-27T23:30:00Z', '2027-03-28 00:30:00'],
  ['2027-03-28T00:30:00Z', '2027-03-28 01:30:00'],
  ['2027-03-28T01:30:00Z', '2027-03-28 03:30:00'],
  ['2027-03-28T21:30:00Z', '2027-03-28 23:30:00'],
  ['2027-03-28T22:30:00Z', '2027-03-29 00:30:00'],
] as const

export function describeZones(surfer: Surfer): void {
  describe('zones', () => {
    let world: World
    beforeAll(async () => {
      world = await openWorld()
      await world.queue.produceMany(
        MOMENTS.map(([moment], i) => ({ topic: 'dst', id: `d-${i}`, payload: i, at: at(moment) })),
      )
    })
    afterAll(() => world.close())

    const berlin = { timezoneId: 'Europe/Berlin' }

    it('a day of 23 hours is one bar', async () => {
      const week = `from=${at('2027-03-24T23:00:00Z')}&until=${at('2027-03-31T22:00:00Z')}`
      const rows = async (): Promise<string[]> => page.locator('.figures tbody tr').allInnerTexts()
      const page = await surfer.open(`${world.ui}/forecast?${week}&table=future`, berlin)
      await settled(page)
      expect((await rows()).map((row) => row.replace('\t', ' = '))).toEqual([
        '2027-03-28 00:00 to 01:00 = 1',
        '2027-03-28 01:00 to 03:00 = 1',
        '2027-03-28 03:00 to 04:00 = 1',
        '2027-03-28 23:00 to 00:00 = 1',
        '2027-03-29 00:00 to 01:00 = 1',
      ])
      const spring = `from=${at('2026-12-31T23:00:00Z')}&until=${at('2027-06-30T22:00:00Z')}`
      await page.goto(`${world.ui}/forecast?${spring}&table=future`)
      await settled(page)
      expect((await rows()).map((row) => row.replace('\t', ' = '))).toEqual([
        '2027-03-28 = 4',
        '2027-03-29 = 1',
      ])
    })

    it('lists, messages and forms follow the switch', async () => {
      const page = await surfer.open(`${world.ui}/messages`, berlin)
      await settled(page)
      const shown = async (): Promise<string[]> =>
        (await page.locator('.when-cell time').allInnerTexts()).map((text) => text.slice(0, 19))
      expect(await shown()).toEqual(MOMENTS.map(([, local]) => local))
      await page.getByLabel('Time zone').selectOption('utc')
      await page.waitForURL(/zone=utc/)
      expect(await shown()).toEqual(MOMENTS.map(([moment]) => moment.replace('T', ' ').replace('Z', '')))
      await page.getByLabel('Due from').fill('2027-03-28T01:00')
      await page.getByLabel('Due from').blur()
      await page.waitForURL(new RegExp(`dueFrom=${at('2027-03-28T01:00:00Z')}`))
      await settled(page)
      await expect
        .poll(shown)
        .toEqual(MOMENTS.slice(2).map(([moment]) => moment.replace('T', ' ').replace('Z', '')))
    })

    it('a moment that is typed is that of the zone’s clock', async () => {
      const page = await surfer.open(`${world.ui}/messages/d-0`, berlin)
      await page.getByRole('button', { name: 'Move…' }).click()
      await page.getByLabel('Date and time, Europe/Berlin').fill('2027-03-28T04:00:00')
      await page.getByRole('dialog').getByRole('button', { name: 'Move', exact: true }).click()
      await page.getByRole('dialog').waitFor({ state: 'hidden' })
      await until(async () => (await world.queue.get('d-0'))?.dueAt).toBe(at('2027-03-28T02:00:00Z'))
      await world.queue.reschedule('d-0', { at: at(MOMENTS[0][0]) })
    })
  })
}
