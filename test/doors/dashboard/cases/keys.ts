/** Whose messages they are: in the list, on the page of a topic's keys, and in what holds a message back. */
import { afterEach, describe, expect, it } from 'vitest'
import { ids, settled, until, type Surfer } from '../browser.ts'
import { openWorld, type World } from '../world.ts'

export function describeKeys(surfer: Surfer): void {
  describe('keys', () => {
    let world: World
    let release: (() => void) | undefined
    afterEach(async () => {
      await surfer.leave()
      release?.()
      await world.close()
    })

    /** One of `busy` runs and two wait, the rate of `spent` is used up, and `failing` waits for its retry. */
    async function begin(): Promise<void> {
      world = await openWorld()
      const { queue } = world
      const over = new Promise<void>((resolve) => (release = resolve))
      const options = { concurrency: 10, retry: { limit: 1, delays: ['1h'] } } as const
      queue.handle('mail', ({ id }) => (id === 'f-0' ? Promise.reject(new Error('no')) : over), options)
      await queue.limit('mail', { perKey: { concurrency: 1 } })
      await queue.limit('mail', { rate: '1/1h' }, { key: 'spent' })
      await queue.produceMany([
        ...['b-0', 'b-1', 'b-2'].map((id, i) => ({
          topic: 'mail',
          id,
          key: 'busy',
          payload: 1,
          at: Date.now() - 1_000 + i,
        })),
        ...['s-0', 's-1'].map((id) => ({ topic: 'mail', id, key: 'spent', payload: 1 })),
        ...['f-0', 'f-1'].map((id) => ({ topic: 'mail', id, key: 'failing', payload: 1 })),
        { topic: 'mail', id: 'plain', payload: 1, delay: '2h' },
        { topic: 'other', id: 'elsewhere', key: 'busy', payload: 1, delay: '1h' },
      ])
      await queue.start()
      const states = async (): Promise<unknown> =>
        Promise.all(['b-0', 's-0', 'f-0'].map(async (id) => (await queue.get(id))?.state))
      await until(states).toEqual(['running', 'running', 'delayed'])
    }

    it('of a topic: how many wait, who holds a slot, whose rate is spent, which retry is waited for', async () => {
      await begin()
      const page = await surfer.open(`${world.ui}/topics`)
      await page.getByRole('link', { name: 'Keys of mail' }).click()
      await page.getByRole('heading', { name: 'Keys of mail' }).waitFor()
      await page.getByText('each key: 1 running at a time').waitFor()
      const cells = (key: string): Promise<string[]> =>
        page.locator('tbody tr', { hasText: key }).locator('td').allInnerTexts()
      await until(() => cells('busy')).toEqual(['2', expect.stringMatching(/^1\s*b-0$/), '–', 'Limit…'])
      await until(() => cells('spent')).toEqual([
        '1',
        expect.stringMatching(/^1\s*s-0$/),
        expect.stringMatching(/its rate is spent: the next may start in .*own limit: 1\/1h/),
        'Limit…',
      ])
      await until(() => cells('failing')).toEqual([
        '2',
        '0',
        expect.stringMatching(/^waits for the retry of f-0, due in /),
        'Limit…',
      ])
      expect(await page.locator('tbody tr').count()).toBe(3)
    })

    it('in the list: a column and a filter, in one topic and over all; none where no message has one', async () => {
      await begin()
      const page = await surfer.open(`${world.ui}/topics/mail`)
      await page.getByRole('rowheader', { name: 'busy' }).getByRole('link').click()
      await until(() => ids(page)).toEqual(['b-0', 'b-1', 'b-2'])
      expect(await page.locator('td.key-cell').allInnerTexts()).toEqual(['busy', 'busy', 'busy'])
      await page.goto(`${world.ui}/messages?state=all`)
      await page.getByLabel('Key', { exact: true }).fill('busy')
      await page.getByLabel('Key', { exact: true }).press('Enter')
      await until(async () => (await ids(page)).toSorted()).toEqual(['b-0', 'b-1', 'b-2', 'elsewhere'])
      // On a desk nothing has to give way for it.
      expect((await page.locator('th.payload-cell').boundingBox())?.width).toBeGreaterThan(80)
      const cut = `[...document.querySelectorAll('.messages :is(th, td.state-cell)')].filter((it) => it.scrollWidth > it.clientWidth).length`
      expect(await page.evaluate<number>(cut)).toBe(0)
      // All that match are those of the key, and no others.
      await page.goto(`${world.ui}/messages?topic=other&key=busy`)
      await settled(page)
      await page.getByRole('button', { name: 'Select all that match' }).click()
      await page.getByRole('button', { name: 'Cancel…' }).click()
      await page.getByText('All delayed messages of other with the key busy.').waitFor()
      await page.goto(`${world.ui}/messages?topic=mail`)
      await until(() => ids(page)).toEqual(['f-0', 'plain'])
      expect(await page.locator('td.key-cell').allInnerTexts()).toEqual(['failing', ''])
      await page.goto(
        `${world.ui}/messages?topic=mail&text=1&state=delayed&dueFrom=${Date.now() + 5_400_000}`,
      )
      await until(() => ids(page)).toEqual(['plain'])
      expect(await page.locator('.key-cell').count()).toBe(0)
    })

    it('why a message waits is said of its key', async () => {
      await begin()
      const page = await surfer.open(`${world.ui}/messages/b-2`)
      await page.getByText('As many of its key busy run as may: 1').waitFor()
      await page.getByText('1 message of its key before it').waitFor()
      await page.goto(`${world.ui}/messages/s-1`)
      await page.getByText('The rate of its key spent is used up').waitFor()
      await page.goto(`${world.ui}/messages/f-1`)
      await page.getByText('Its key failing waits for the retry of f-0').waitFor()
      await page.getByRole('link', { name: 'key failing' }).click()
      await until(async () => (await ids(page)).toSorted()).toEqual(['f-0', 'f-1'])
    })

    it('a key gets a limit and a weight, and the limit of a topic keeps what each key is allowed', async () => {
      await begin()
      const { queue } = world
      const page = await surfer.open(`${world.ui}/topics/mail`)
      await page.getByRole('button', { name: 'Limit busy' }).click()
      await page.getByLabel(/^Weight/).fill('3')
      await page.getByRole('button', { name: 'Set the limit' }).click()
      await until(async () => (await queue.keys('mail', { keys: ['busy'] })).keys[0]?.limit).toEqual({
        weight: 3,
      })
      await page.goto(`${world.ui}/topics`)
      await page.getByRole('button', { name: 'Limit mail' }).click()
      await page.getByLabel('Running at a time').fill('7')
      await page.getByRole('button', { name: 'Set the limit' }).click()
      const limit = async (): Promise<unknown> =>
        (await queue.stats()).controls.find(({ topic }) => topic === 'mail')?.limit
      await until(limit).toEqual({ concurrency: 7, perKey: { concurrency: 1 } })
      await page.getByText('7 running at a time · each key: 1 running at a time').waitFor()
      await page.getByRole('button', { name: 'Limit mail' }).click()
      for (const name of ['Running at a time', 'Running of each key at a time'])
        await page.getByLabel(name).fill('')
      await page.getByRole('button', { name: 'Set the limit' }).click()
      await until(limit).toBeUndefined()
    })

    it('page by page, each once', async () => {
      world = await openWorld()
      await world.queue.produceMany(
        Array.from({ length: 120 }, (_, i) => ({
          topic: 'many',
          key: `customer-${i}`,
          payload: 1,
          delay: '1h' as const,
        })),
      )
      const page = await surfer.open(`${world.ui}/topics/many`)
      const seen: string[] = []
      for (const size of [50, 50, 20]) {
        // The rows of the page before are gone.
        await until(async () => {
          const keys = await page.getByRole('rowheader').allInnerTexts()
          return keys.length === size && keys.every((key) => !seen.includes(key))
        }).toBe(true)
        seen.push(...(await page.getByRole('rowheader').allInnerTexts()))
        if (seen.length < 120) await page.getByRole('link', { name: 'Next page' }).click()
      }
      expect(new Set(seen).size).toBe(120)
      expect(await page.getByRole('link', { name: 'Next page' }).count()).toBe(0)
      await page.goto(`${world.ui}/topics/none`)
      await page.getByText('No keys.').waitFor()
    })
  })
}
