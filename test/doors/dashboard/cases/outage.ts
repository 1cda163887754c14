/** The server dies and comes back: the last numbers stay, grey and with their age, and then they are true again. */
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { RedisServer } from '../../../store/redis/server.ts'
import { AWAY, makeGapped } from '../../gapped.ts'
import { settled, until, type Surfer } from '../browser.ts'
import { fill, openWorld, type World } from '../world.ts'

export function describeOutage(surfer: Surfer): void {
  describe('outage', () => {
    let world: World
    afterEach(async () => {
      await surfer.leave()
      await world.close()
    })

    it('the server dies and comes back', async () => {
      world = await openWorld()
      await fill(world.queue)
      const page = await surfer.open(`${world.ui}/messages`)
      await settled(page)
      await page.getByRole('button', { name: 'Live' }).waitFor()
      await page.getByRole('button', { name: 'Select all that match' }).click()
      const move = page.getByRole('button', { name: 'Move…' })
      expect(await move.isDisabled()).toBe(false)

      await world.stopServer()
      await page.getByText(/The server has not answered for/).waitFor()
      await page.getByText(/The numbers below are .* old/).waitFor()
      expect(await page.locator('tbody tr').count()).toBe(50)
      await until(() => move.isDisabled()).toBe(true)
      await world.queue.produce('mail.send', {}, { delay: '2h' })

      await world.startServer()
      await page.getByRole('button', { name: 'Live' }).waitFor()
      await until(() => page.locator('.tabs .state-delayed').innerText()).toContain('301')
      await until(() => move.isDisabled()).toBe(false)
      surfer.troubles() // What a browser says of a server that is away.
    })

    it('the store is away and comes back', async () => {
      const redis = await RedisServer.start()
      onTestFinished(() => redis.stop())
      world = await openWorld({ store: redis.url })
      await world.queue.produce('mail.send', {}, { delay: '1h' })
      const page = await surfer.open(world.ui)
      const delayed = page.locator('.counts .state-delayed .figure')
      await until(() => delayed.innerText()).toBe('1')
      await redis.kill()
      await page.getByText(/The store has not answered for/).waitFor()
      expect(await delayed.innerText()).toBe('1')
      await redis.resume()
      await page.getByText(/The store has not answered for/).waitFor({ state: 'hidden' })
      // This server keeps nothing on disk: it came back empty.
      await until(() => delayed.innerText()).toBe('0')
      surfer.troubles()
    })

    it('a partition of the store is away: named on every page', async () => {
      const { store, sendAway } = await makeGapped()
      world = await openWorld({ store })
      const page = await surfer.open(world.ui)
      await settled(page)
      const line = page.getByText(`${AWAY} does not answer.`)
      expect(await line.count()).toBe(0)
      sendAway()
      await line.waitFor()
      await page.goto(`${world.ui}/messages`)
      await line.waitFor()
    })

    it('opened while the server is away, it says so and comes by itself', async () => {
      world = await openWorld()
      const page = await surfer.open(world.ui)
      await settled(page)
      await page.route('**/v1/session', (route) => route.abort())
      await page.reload()
      await page.getByText('The server does not answer.').waitFor()
      await page.unroute('**/v1/session')
      await page.getByRole('heading', { name: 'Now' }).waitFor()
      surfer.troubles()
    })
  })
}
