/** Every page: with nothing, with some of everything, and with a million; in light, in dark, wide and narrow. */
import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { flaws, overflow, settled, until, type Surfer } from '../browser.ts'
import { fill, fillWith, openWorld, type World } from '../world.ts'

const PAGES = [
  ['now', ''],
  ['now, as tables', '?table=future'],
  ['messages', '/messages'],
  ['dead messages', '/messages?state=dead'],
  ['a message', '/messages/m-001'],
  ['a dead message', '/messages/dead-1'],
  ['forecast', '/forecast?range=all'],
  ['dead letters', '/dead'],
  ['workers', '/workers'],
  ['topics', '/topics'],
  ['keys of a topic', '/topics/mail.send'],
  ['schedules', '/schedules?open=digest'],
  ['doctor', '/doctor'],
  ['keys', '/workers?keys=shown'],
] as const

const LOOKS = [
  { colorScheme: 'light', width: 1_280 },
  { colorScheme: 'dark', width: 1_280 },
  { colorScheme: 'light', width: 360 },
  { colorScheme: 'dark', width: 360 },
] as const

async function expectFine(page: Page, { colorScheme, width }: (typeof LOOKS)[number]): Promise<void> {
  await page.emulateMedia({ colorScheme })
  await page.setViewportSize({ width, height: 800 })
  expect(await overflow(page), `${width} px`).toBeLessThanOrEqual(0)
  expect(await flaws(page), `${colorScheme}, ${width} px`).toEqual([])
}

/** Nothing of it lies outside of a window of 360 px. */
async function isInside(shown: Locator): Promise<boolean> {
  const box = await shown.boundingBox()
  return box !== null && box.x >= 0 && box.x + box.width <= 360
}

export function describePages(surfer: Surfer): void {
  describe('pages of a queue with some of everything', () => {
    let world: World
    beforeAll(async () => {
      world = await openWorld()
      await fill(world.queue)
    })
    afterAll(() => world.close())

    it.each(PAGES)(
      '%s: nothing for axe to find, nothing wider than the window, in every look',
      async (_, path) => {
        const page = await surfer.open(world.ui + path)
        await settled(page)
        for (const look of LOOKS) await expectFine(page, look)
      },
    )

    it('a narrow window has everything that a wide one has: every page behind one button, and their buttons', async () => {
      const page = await surfer.open(`${world.ui}/topics`, { viewport: { width: 360, height: 800 } })
      const limit = page.getByRole('button', { name: 'Limit order.close' })
      await page.getByRole('button', { name: /^Topics/ }).click()
      for (const name of ['Now', 'Messages', 'Forecast', 'Dead letters', 'Workers', 'Schedules', 'Doctor'])
        await until(() => isInside(page.getByRole('link', { name: new RegExp(`^${name}`) }).first())).toBe(
          true,
        )
      for (const shown of [
        page.getByRole('link', { name: /^Topics/ }),
        page.getByLabel('Time zone'),
        page.getByRole('button', { name: 'Resume order.close' }),
        limit,
      ])
        await until(() => isInside(shown)).toBe(true)
      await limit.click()
      for (const name of ['Copy as curl', 'Set the limit'])
        await until(() => isInside(page.getByRole('button', { name }))).toBe(true)
    })

    it('a page that does not exist, and a message that is gone, say so', async () => {
      const page = await surfer.open(`${world.ui}/nowhere`)
      await page.getByText('There is no such page.').waitFor()
      await page.goto(`${world.ui}/messages/never`)
      await page.getByText('There is no such message now.').waitFor()
      expect(surfer.troubles().filter((text) => !text.includes('404'))).toEqual([])
    })
  })

  describe('pages of an empty queue', () => {
    let world: World
    beforeAll(async () => {
      world = await openWorld()
    })
    afterAll(() => world.close())

    it.each([
      ['', 'Nothing waits.'],
      ['/messages', 'Nothing waits.'],
      ['/messages?topic=a', 'Nothing matches.'],
      ['/forecast', 'Nothing is due in this time'],
      ['/dead', 'No dead letters.'],
      ['/workers', 'No worker has been seen.'],
      ['/topics', 'No topic has messages.'],
      ['/topics/mail', 'No keys.'],
      ['/schedules', 'No schedules.'],
    ])('%s teaches: %s', async (path, text) => {
      const page = await surfer.open(world.ui + path)
      await page.getByText(text).first().waitFor()
      for (const look of LOOKS) await expectFine(page, look)
    })
  })

  describe('pages of a queue with 1,000,000 messages', () => {
    let world: World
    beforeAll(async () => {
      world = await openWorld()
      await fillWith(world.queue, 1_000_000)
      await world.queue.schedules.set('digest', { topic: 'mail.digest', every: '1d' })
    })
    afterAll(() => world.close())

    it.each(PAGES.filter(([name]) => !name.includes('dead')))('%s', async (_, path) => {
      const page = await surfer.open(world.ui + path)
      await settled(page)
      for (const look of [LOOKS[0], LOOKS[3]]) await expectFine(page, look)
      // Whatever there is, a page stays small enough for a browser.
      expect(await page.evaluate<number>(`document.querySelectorAll('*').length`)).toBeLessThan(5_000)
    })

    it('a schedule is found among them', async () => {
      const page = await surfer.open(`${world.ui}/schedules`)
      await page.getByRole('heading', { name: 'digest' }).waitFor()
    })

    it('a text is looked for step by step, and the page says how far', async () => {
      const page = await surfer.open(`${world.ui}/messages?text=777777`)
      await page.getByText(/looked at [\d,]+ of 1,000,000/).waitFor()
      const goOn = page.getByRole('button', { name: 'Go on looking' })
      const found = page.getByRole('link', { name: 'm-777777' })
      while (!(await found.isVisible())) {
        await Promise.race([goOn.waitFor(), found.waitFor()])
        if (await goOn.isVisible()) await goOn.click()
      }
    })

    it('all that match are counted before they are touched', async () => {
      const page = await surfer.open(`${world.ui}/messages?topic=topic-3`)
      await page.getByRole('button', { name: 'Select all that match' }).click()
      await page.getByRole('button', { name: 'Move…' }).click()
      await page.getByRole('button', { name: 'Preview', exact: true }).click()
      await page.getByText(/At least [\d,]+ messages|200,000 messages/).waitFor()
    })
  })
}
