/** Whole ways through the dashboard, by mouse and by keyboard alone. */
import type { Page } from 'playwright-core'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { settled, until, type Surfer } from '../browser.ts'
import { fill, openWorld, type World } from '../world.ts'

export function describeFlows(surfer: Surfer): void {
  describe('flows', () => {
    let world: World
    beforeEach(async () => {
      world = await openWorld()
      await fill(world.queue)
    })
    afterEach(async () => {
      await surfer.leave()
      await world.close()
    })

    async function arrivals(): Promise<string[]> {
      const arrived: string[] = []
      world.queue.handle('mail.send', ({ id }) => void arrived.push(id))
      return arrived
    }

    it('by mouse: find a message, move it, see it arrive', async () => {
      const arrived = await arrivals()
      const page = await surfer.open(world.ui)
      await page.getByLabel('Find a message').fill('m-003')
      await page.getByLabel('Find a message').press('Enter')
      await page.getByRole('heading', { name: 'm-003' }).waitFor()
      await page.getByRole('button', { name: 'Move…' }).click()
      await page.getByLabel('How long from now').fill('100ms')
      await page.getByRole('dialog').getByRole('button', { name: 'Move', exact: true }).click()
      await page.getByText('There is no such message now.').waitFor()
      expect(arrived).toContain('m-003')
      surfer.troubles() // It is gone: 404 is what the page waits for.
    })

    it('by keyboard alone: the same', async () => {
      const arrived = await arrivals()
      const page = await surfer.open(world.ui)
      await settled(page)
      await page.keyboard.press('/')
      await page.keyboard.type('m-006')
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: 'm-006' }).waitFor()
      await page.getByRole('button', { name: 'Move…' }).waitFor()
      await page.keyboard.press('m')
      await page.getByRole('dialog').waitFor()
      await tabTo(page, 'How long from now')
      await page.keyboard.press('ControlOrMeta+a')
      await page.keyboard.type('100ms')
      await page.keyboard.press('Enter')
      await page.getByText('There is no such message now.').waitFor()
      expect(arrived).toContain('m-006')
      surfer.troubles()
    })

    it('by keyboard alone: revive a group of dead letters', async () => {
      const page = await surfer.open(world.ui)
      await settled(page)
      await page.keyboard.press('g')
      await page.keyboard.press('d')
      await page.getByText('Error: connect ETIMEDOUT').first().waitFor()
      await tabTo(page, 'Revive: Error: connect ETIMEDOUT 10.0.0.7:25')
      await page.keyboard.press('Enter')
      await page.getByRole('dialog').waitFor()
      await tabTo(page, 'Preview')
      await page.keyboard.press('Enter')
      await page.getByText('3 messages').waitFor()
      await tabTo(page, 'Revive 3')
      await page.keyboard.press('Enter')
      await page.getByText('Revived 3.').waitFor()
      // They fail again: their handler still does.
      await until(async () => (await world.queue.list({ state: 'dead' })).items.length).toBe(3)
    })

    it('by keyboard alone: pause a topic in an incident, and resume it spread', async () => {
      const page = await surfer.open(world.ui)
      await settled(page)
      await page.keyboard.press('g')
      await page.keyboard.press('t')
      await page.getByRole('button', { name: 'Pause mail.send' }).waitFor()
      await tabTo(page, 'Pause mail.send')
      await page.keyboard.press('Enter')
      await page.getByRole('dialog').waitFor()
      await tabTo(page, 'Pause')
      await page.keyboard.press('Enter')
      await page.getByRole('button', { name: 'Resume mail.send' }).waitFor()
      const held = async (): Promise<unknown> =>
        (await world.queue.stats()).controls.find(({ topic }) => topic === 'mail.send')
      expect(await held()).toMatchObject({ paused: {} })
      await tabTo(page, 'Resume mail.send')
      await page.keyboard.press('Enter')
      await page.getByRole('dialog').waitFor()
      await tabTo(page, 'Resume')
      await page.keyboard.press('Enter')
      await page.getByRole('button', { name: 'Pause mail.send' }).waitFor()
      expect(await held()).not.toMatchObject({ paused: {} })
    })

    it('select all that match, see which, type their number, and they are cancelled', async () => {
      const page = await surfer.open(`${world.ui}/messages?topic=invoice.remind`)
      await settled(page)
      await page.getByRole('button', { name: 'Select all that match' }).click()
      await page.getByRole('button', { name: 'Cancel…' }).click()
      await page.getByText('All delayed messages of invoice.remind.').waitFor()
      await page.getByRole('button', { name: 'Preview', exact: true }).click()
      const agree = page.getByRole('button', { name: 'Cancel 100' })
      await agree.waitFor()
      expect(await agree.isDisabled()).toBe(true)
      await page.getByLabel(/Type 100/).fill('100')
      await agree.click()
      await page.getByText('Cancelled 100.').waitFor()
      expect((await world.queue.list({ topic: 'invoice.remind' })).items).toEqual([])
      expect((await world.queue.list({ topic: 'mail.send' })).items).toHaveLength(100)
    })

    it('select two by their boxes, and only they are moved', async () => {
      const page = await surfer.open(`${world.ui}/messages?topic=mail.send`)
      await settled(page)
      for (const box of [0, 1]) await page.locator('tbody input[type=checkbox]').nth(box).check()
      await page.getByText('2 selected').waitFor()
      await page.getByRole('button', { name: 'Move…' }).click()
      await page.getByLabel('How long from now').fill('90d')
      await page.getByRole('button', { name: 'Preview', exact: true }).click()
      await page.getByRole('button', { name: 'Move 2' }).click()
      await page.getByText('Moved 2.').waitFor()
      const far = (await world.queue.list({ topic: 'mail.send' })).items.filter(
        ({ dueAt }) => dueAt > Date.now() + 80 * 86_400_000,
      )
      expect(far).toHaveLength(2)
    })

    it('drag over bars to zoom, go back, and zoom by keyboard', async () => {
      const page = await surfer.open(world.ui)
      await settled(page)
      const chart = page.getByRole('slider', { name: 'The coming time' })
      const box = await chart.boundingBox()
      if (box === null) throw new Error('the chart is not shown')
      await page.mouse.move(box.x + 300, box.y + 100)
      await page.mouse.down()
      await page.mouse.move(box.x + 400, box.y + 100, { steps: 4 })
      await page.mouse.up()
      await page.waitForURL(/from=\d+&until=\d+/)
      await page.goBack()
      await until(() => page.url()).toBe(world.ui)
      await settled(page)
      await chart.focus()
      await page.keyboard.press('ArrowRight')
      await page.keyboard.press('Shift+ArrowRight')
      expect(await chart.getAttribute('aria-valuetext')).toMatch(/ to .*: \d+ due$/)
      await page.keyboard.press('Enter')
      await page.waitForURL(/from=\d+&until=\d+/)
    })

    it('what one sees is in the address: loaded again it is the same', async () => {
      const page = await surfer.open(`${world.ui}/messages?state=dead&topic=flaky&zone=utc`)
      await until(() => page.locator('main').innerText()).toContain('dead-0')
      await page.reload()
      await settled(page)
      expect(
        await page.getByRole('navigation', { name: 'State' }).locator('[aria-current]').innerText(),
      ).toContain('Dead')
      expect(await page.getByLabel('Time zone').inputValue()).toBe('utc')
      expect(await page.getByLabel('Topic').first().inputValue()).toBe('flaky')
    })

    it('paused, the numbers stand still; live again, they are true', async () => {
      const page = await surfer.open(world.ui)
      const delayed = page.locator('.counts .state-delayed .figure')
      await until(() => delayed.innerText()).toBe('300')
      await page.keyboard.press('r')
      await page.getByRole('button', { name: 'Paused' }).waitFor()
      await world.queue.produce('mail.send', {}, { delay: '1h' })
      await page.keyboard.press('r')
      await until(() => delayed.innerText()).toBe('301')
    })
  })
}

const FOCUSED = `document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent?.trim() ?? ''`

/** Presses Tab until what has this name has the focus. */
async function tabTo(page: Page, name: string): Promise<void> {
  for (let presses = 0; presses < 80; presses += 1) {
    if ((await page.evaluate<string>(FOCUSED)) === name) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`no Tab leads to "${name}"`)
}
