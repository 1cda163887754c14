/** What people do all day: look through what comes, find one, see what they may, make a schedule, on a desk and on a phone. */
import { createHash } from 'node:crypto'
import type { Page } from 'playwright-core'
import { afterEach, describe, expect, it } from 'vitest'
import { ids, settled, until, type Surfer } from '../browser.ts'
import { fill, openWorld, QUEUE, type World } from '../world.ts'

const HOUR = 3_600_000

function token(secret: string, more: object): object {
  return { name: secret, hash: createHash('sha256').update(secret).digest('hex'), scopes: ['read'], ...more }
}

async function logIn(page: Page, secret: string): Promise<void> {
  await page.getByLabel('Token').fill(secret)
  await page.getByRole('button', { name: 'Log in' }).click()
}

export function describeLiving(surfer: Surfer): void {
  describe('every day', () => {
    let world: World
    afterEach(async () => {
      await surfer.leave()
      await world.close()
    })

    it('messages of all topics stand in the order in which they are due; a header turns it round; rows are remembered', async () => {
      world = await openWorld()
      const now = Date.now()
      await world.queue.produceMany(
        Array.from({ length: 60 }, (_, i) => ({
          topic: `topic-${(i * 7) % 5}`,
          id: `m-${String(i).padStart(2, '0')}`,
          payload: i,
          at: now + HOUR + i * 60_000,
        })),
      )
      const all = Array.from({ length: 60 }, (_, i) => `m-${String(i).padStart(2, '0')}`)
      const page = await surfer.open(`${world.ui}/messages`)
      await settled(page)
      expect(await ids(page)).toEqual(all.slice(0, 50))
      await page.getByRole('link', { name: 'Due', exact: true }).click()
      await until(() => ids(page)).toEqual(all.toReversed().slice(0, 50))
      expect(await page.locator('[aria-sort]').getAttribute('aria-sort')).toBe('descending')
      await page.getByRole('link', { name: 'Next page' }).click()
      await until(() => ids(page)).toEqual(all.toReversed().slice(50))
      await page.getByLabel('Rows of a page').selectOption('25')
      await until(() => ids(page)).toEqual(all.toReversed().slice(0, 25))
      await page.goto(`${world.ui}/messages?state=all`)
      await until(() => ids(page)).toEqual(all.slice(0, 25))
      // All of them fit on one screen.
      await page.setViewportSize({ width: 1_280, height: 900 })
      const last = await page.locator('tbody tr').nth(24).boundingBox()
      expect((last?.y ?? Infinity) + (last?.height ?? 0)).toBeLessThanOrEqual(900)
    })

    it('a word is found as an id, the beginning of one, a tag, and in payloads, in every state; nothing found says where', async () => {
      world = await openWorld()
      await fill(world.queue)
      await until(async () => (await world.queue.list({ state: 'dead' })).items.length).toBe(3)
      const page = await surfer.open(world.ui)
      const find = async (word: string): Promise<void> => {
        await page.getByLabel('Find a message').fill(word)
        await page.getByLabel('Find a message').press('Enter')
      }
      await find('dead-')
      await until(async () => (await ids(page)).toSorted()).toEqual(['dead-0', 'dead-1', 'dead-2'])
      await find('order-4')
      await until(async () => (await ids(page)).length).toBe(15)
      await find('nobody handles')
      await until(() => ids(page)).toEqual(['lonely'])
      await find('zebra')
      await page.getByText('Nothing matches.').waitFor()
      await page.getByText(/Looked at [\d,]+ messages in all states/).waitFor()
      await find('m-007')
      await page.getByRole('heading', { name: 'm-007' }).waitFor()
      expect(surfer.troubles().filter((text) => !text.includes('404'))).toEqual([])
    })

    it('a queue that is not there says so and offers those that are', async () => {
      world = await openWorld()
      const page = await surfer.open(`${world.url}/ui/oders/messages`)
      await page.getByRole('heading', { name: 'No such queue' }).waitFor()
      expect(await page.getByText('has not answered').count()).toBe(0)
      await page.getByRole('main').getByRole('link', { name: QUEUE }).click()
      await page.getByRole('heading', { name: 'Now' }).waitFor()
      await settled(page)
      expect(surfer.troubles().filter((text) => !text.includes('404'))).toEqual([])
    })

    it('a token sees what it may: its topics, its queues, or why nothing', async () => {
      world = await openWorld({
        tokens: [
          token('of-mail', { topicPrefix: 'mail.' }),
          token('elsewhere', { queues: ['other'] }),
          token('blind', { scopes: ['produce'] }),
        ] as never,
      })
      await fill(world.queue)
      const page = await surfer.open(world.ui)
      await page.getByText('punctual token add').waitFor()
      await logIn(page, 'of-mail')
      await until(() => page.locator('.counts .state-delayed .figure').innerText()).toBe('100')
      await page.getByText('only mail.').waitFor()
      await page.goto(`${world.ui}/messages`)
      await settled(page)
      expect(await page.locator('.topic-cell').allInnerTexts()).not.toContain('order.close')
      expect((await ids(page)).length).toBeGreaterThan(0)
      for (const path of ['/topics', '/schedules', '/workers', '/dead', '/forecast']) {
        await page.goto(world.ui + path)
        await settled(page)
        const text = await page.locator('main').innerText()
        expect({
          path,
          isTold: /order\.|invoice|flaky/.test(text),
          isRefused: text.includes('FORBIDDEN'),
        }).toEqual({
          path,
          isTold: false,
          isRefused: false,
        })
      }
      await page.getByRole('button', { name: 'Log out' }).click()
      await logIn(page, 'elsewhere')
      await page.getByRole('heading', { name: 'Not for this token' }).waitFor()
      await page.getByRole('button', { name: 'Log out' }).click()
      await logIn(page, 'blind')
      await page.getByText(/may not look/).waitFor()
      expect(surfer.troubles().filter((text) => !/40[134]/.test(text))).toEqual([])
    })

    it('a token that is taken back while the page is open leads to the login', async () => {
      let tokens = [token('short', {}), token('long', {})]
      world = await openWorld({ tokens: (() => tokens) as never })
      const page = await surfer.open(world.ui)
      await logIn(page, 'short')
      await page.getByRole('button', { name: 'Live', exact: true }).waitFor()
      tokens = [token('long', {})]
      await page.getByLabel('Token').waitFor()
      expect(surfer.troubles().filter((text) => !text.includes('401'))).toEqual([])
    })

    it('a schedule is made, shows its next ten, fires now, is changed, and tells its last result', async () => {
      world = await openWorld()
      const { queue } = world
      queue.handle('tick', () => Promise.reject(new Error('no ink')), { retry: { limit: 0 } })
      await queue.start()
      const page = await surfer.open(`${world.ui}/schedules`)
      await page.getByRole('button', { name: 'New schedule…' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Name').fill('every-so-often')
      await dialog.getByLabel('Topic').fill('tick')
      await dialog.getByRole('button', { name: 'Every so often' }).click()
      await dialog.getByLabel(/^Every, such as/).fill('1h')
      await dialog.getByLabel(/^Payload/).fill('{"n":1}')
      await until(() => dialog.locator('.occurrences li').count()).toBe(10)
      await dialog.getByRole('button', { name: 'Make the schedule' }).click()
      await page.getByRole('button', { name: 'Fire now: every-so-often' }).click()
      await page.getByRole('link', { name: 'Fired: see the message' }).click()
      await until(async () =>
        (await queue.list({ state: 'dead' })).items.map(({ payload }) => payload),
      ).toEqual([{ n: 1 }])
      await page.goto(`${world.ui}/schedules`)
      await page.getByRole('button', { name: 'Change every-so-often' }).click()
      await dialog.getByLabel(/^Every, such as/).fill('1s')
      await dialog.getByRole('button', { name: 'Change it' }).click()
      await until(async () => (await queue.schedules.get('every-so-often'))?.everyMs).toBe(1_000)
      await page.goto(`${world.ui}/schedules?open=every-so-often`)
      await until(async () => page.locator('.schedules').innerText()).toContain('no ink')
      expect(await page.locator('.occurrences li').count()).toBe(10)
    })

    it('a long name is cut, with the whole of it in a tooltip; controls that turn text round are shown and stay inside', async () => {
      world = await openWorld()
      const long = `id-${'x'.repeat(150)}-end`
      const turned = '\u202Egnp.exe'
      await world.queue.produce('t'.repeat(180), 1, { id: long, delay: '1h' })
      await world.queue.produce('plain', 1, { id: turned, delay: '2h', tag: turned })
      const page = await surfer.open(`${world.ui}/messages`)
      await settled(page)
      await page.locator(`a.id .name-cut[title="${long}"]`).waitFor()
      expect(
        await page.evaluate<boolean>(
          `(() => { const it = document.querySelector('a.id .name-cut'); return it.scrollWidth > it.clientWidth })()`,
        ),
      ).toBe(true)
      expect(await page.locator('a.id .unseen-char').getAttribute('data-code')).toBe('U+202E')
      // The text is as it was, and what stands behind the control is written from left to right.
      expect(await page.locator('a.id').nth(1).innerText()).toContain(turned)
      const isLeftToRight = `(() => {
        const range = document.createRange()
        const text = document.querySelector('a.id .unseen-char').nextSibling
        const xOf = (at) => {
          range.setStart(text, at)
          range.setEnd(text, at + 1)
          return range.getBoundingClientRect().x
        }
        return xOf(0) < xOf(3)
      })()`
      expect(await page.evaluate<boolean>(isLeftToRight)).toBe(true)
    })

    it('a burst is work only where workers told what they can do; where that is too little, it is spread', async () => {
      world = await openWorld()
      const { queue } = world
      const at = Date.now() + 5 * HOUR
      await queue.produceMany([
        ...Array.from({ length: 600 }, (_, i) => ({ topic: 'digest', payload: i, at })),
        ...Array.from({ length: 20 }, (_, i) => ({ topic: 'other', payload: i, at: at + i * HOUR })),
      ])
      queue.handle('digest', () => undefined)
      await queue.start()
      const page = await surfer.open(`${world.ui}/forecast`)
      await page
        .locator('.bursts')
        .getByText(/: 60\d due$/)
        .waitFor()
      expect(await page.getByRole('button', { name: /^Spread/ }).count()).toBe(0)
      await page.route('**/workers', async (route) => {
        const response = await route.fetch()
        const { workers } = (await response.json()) as { workers: { facts: object }[] }
        const told = workers.map((worker) => ({ ...worker, facts: { ...worker.facts, perSecond: 0.1 } }))
        await route.fulfill({ response, json: { workers: told } })
      })
      await page.getByText(/1 h 4\d min .*of work for workers that can do 0\.1\/s/).waitFor()
      await page.getByRole('button', { name: 'Spread over 2h…' }).click()
      await page.getByRole('button', { name: 'Preview', exact: true }).click()
      await page
        .getByRole('dialog')
        .getByRole('button', { name: /^Spread 60\d$/ })
        .click()
      await page.getByText(/^Moved 60\d\.$/).waitFor()
      const { items } = await queue.list({ topic: 'digest', state: 'delayed', limit: 1_000 })
      const moments = items.map(({ dueAt }) => dueAt)
      expect(Math.max(...moments) - Math.min(...moments)).toBeGreaterThan(HOUR)
      expect(items).toHaveLength(600)
      await page.unrouteAll({ behavior: 'ignoreErrors' })
    })

    it('a thousand topics are paged, and a process without handlers is no worker', async () => {
      world = await openWorld()
      await world.queue.produceMany(
        Array.from({ length: 1_000 }, (_, i) => ({ topic: `tenant-${i}`, payload: 1, delay: '1h' as const })),
      )
      await world.queue.start()
      const page = await surfer.open(`${world.ui}/topics`)
      await until(() => page.locator('tbody tr').count()).toBe(50)
      await page.getByText('1 to 50 of 1,000').waitFor()
      await page.getByRole('link', { name: 'Next page' }).click()
      await page.getByText('51 to 100 of 1,000').waitFor()
      await page.goto(`${world.ui}/workers`)
      await page.getByText('No worker has been seen.').waitFor()
      await page.getByText(/1 process without handlers/).waitFor()
    })

    it('on a phone what a page is about begins in its first third', async () => {
      world = await openWorld()
      await fill(world.queue)
      const page = await surfer.open(world.ui, { viewport: { width: 390, height: 844 } })
      for (const path of [
        '',
        '/messages',
        '/messages?state=all',
        '/forecast',
        '/dead',
        '/workers',
        '/topics',
        '/schedules',
        '/doctor',
      ]) {
        await page.goto(world.ui + path)
        await settled(page)
        const content = page
          .locator('main')
          .locator('.counts, .panel, .table-box, .dead-groups, .schedules, .findings')
          .first()
        await content.waitFor()
        expect((await content.boundingBox())?.y, path).toBeLessThanOrEqual(844 / 3)
      }
    })
  })
}
