/** Payloads are text, never markup; a token that may only read sees no buttons; a base path is kept. */
import { createHash } from 'node:crypto'
import { afterEach, describe, expect, it } from 'vitest'
import { settled, until, type Surfer } from '../browser.ts'
import { fill, openWorld, QUEUE, type World } from '../world.ts'

const HOSTILE = [
  '<img src=x onerror="window.hacked=1">',
  '"><script>window.hacked=1</script>',
  'javascript:window.hacked=1',
  "'; window.hacked=1; //",
  '\u202Egnp.exe\u0000\u0007',
  '../../../v1/session',
  '<svg/onload=window.hacked=1>',
  '{{constructor.constructor("window.hacked=1")()}}',
]

const IS_HACKED = `'hacked' in window`

export function describeSafety(surfer: Surfer): void {
  describe('safety', () => {
    let world: World
    afterEach(async () => {
      await surfer.leave()
      await world.close()
    })

    it('hostile payloads, ids, topics, tags, errors and schedules are shown as text', async () => {
      world = await openWorld()
      const { queue } = world
      const printable = HOSTILE.filter((text) => !/\p{Cc}/u.test(text))
      await queue.produceMany(
        printable.map((text, i) => ({
          topic: text,
          id: `${text}/${i}`,
          tag: text,
          key: text,
          payload: { text, all: HOSTILE },
          delay: '1h',
        })),
      )
      queue.handle('flaky', () => Promise.reject(new Error(HOSTILE.join('\n'))), { retry: { limit: 0 } })
      await queue.start()
      await queue.produce('flaky', HOSTILE, { id: 'failed' })
      await until(async () => (await queue.get('failed'))?.state).toBe('dead')
      await queue.schedules.set('<img src=x onerror="window.hacked=1">', {
        topic: printable[0] ?? '',
        payload: HOSTILE,
        every: '1h',
      })
      await queue.pause(printable[0] ?? '')

      const page = await surfer.open(world.ui)
      for (const path of [
        '',
        '/messages',
        '/messages/failed?payload=indented',
        '/dead',
        '/topics',
        `/topics/${encodeURIComponent(printable[0] ?? '')}`,
        '/schedules',
        '/forecast',
        '/doctor',
        '/workers',
      ]) {
        await page.goto(world.ui + path)
        await settled(page)
        expect(await page.evaluate<boolean>(IS_HACKED), path).toBe(false)
        expect(await page.locator('main img, main script, main iframe, main object').count(), path).toBe(0)
      }
      const [first = ''] = printable
      await page.goto(`${world.ui}/messages`)
      await page.getByRole('link', { name: `${first}/0` }).click()
      await page.getByRole('heading', { name: `${first}/0` }).waitFor()
      expect(await page.locator('pre.payload').innerText()).toBe(
        JSON.stringify({ text: first, all: HOSTILE }),
      )
      await page.goto(`${world.ui}/messages?text=${encodeURIComponent(first)}`)
      await settled(page)
      expect(await page.evaluate<boolean>(IS_HACKED)).toBe(false)
    })

    it('a topic and a message called `..` by an older version can be seen and steered, and nothing else is', async () => {
      world = await openWorld()
      await world.plant([{ id: '..', topic: '..' }])
      const page = await surfer.open(`${world.ui}/topics`)
      await page.getByRole('button', { name: 'Pause ..', exact: true }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Pause', exact: true }).click()
      await until(async () => (await world.queue.stats()).controls).toEqual([{ topic: '..', paused: {} }])
      await page.goto(`${world.ui}/messages`)
      await page.getByRole('link', { name: '..', exact: true }).first().click()
      await page.getByRole('heading', { name: '..', exact: true }).waitFor()
      await page.getByText('As curl').click()
      await page.getByText(`/v1/queues/${QUEUE}/messages/~..'`).first().waitFor()
      await page.reload()
      await page.getByRole('button', { name: 'Cancel…' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Cancel the message' }).click()
      await until(() => world.queue.get('..')).toBeUndefined()
      surfer.troubles() // It is gone: 404 is what the page waits for.
    })

    it('numbers beyond 2^53 are shown as they are stored', async () => {
      world = await openWorld()
      const put = await fetch(`${world.url}/v1/queues/${QUEUE}/messages/big`, {
        method: 'PUT',
        headers: { 'content-type': 'application/json', 'punctual-topic': 'sum', 'punctual-delay': '1h' },
        body: '{"n":12345678901234567890}',
      })
      expect(put.status).toBe(201)
      const page = await surfer.open(`${world.ui}/messages/big?payload=indented`)
      await page.getByText('"n": 12345678901234567890').waitFor()
    })

    it('a token that may only read sees no buttons, and the server refuses all the same', async () => {
      const secret = 'pt_readonlyreadonlyreadonlyreadonly'
      const hash = createHash('sha256').update(secret).digest('hex')
      world = await openWorld({ tokens: [{ name: 'viewer', hash, scopes: ['read'] }] })
      await fill(world.queue)
      const page = await surfer.open(world.ui)
      await page.getByLabel('Token').fill('wrong')
      await page.getByRole('button', { name: 'Log in' }).click()
      await page.getByRole('alert').waitFor()
      await page.getByLabel('Token').fill(secret)
      await page.getByRole('button', { name: 'Log in' }).click()
      await page.getByText('read-only').waitFor()
      for (const path of ['', '/messages', '/messages/m-001', '/dead', '/topics', '/schedules?open=digest']) {
        await page.goto(world.ui + path)
        await settled(page)
        const names = await page.getByRole('button').allInnerTexts()
        expect(
          names.filter((name) => name.endsWith('…') || /^(Revive|Pause|Resume|Run now)$/.test(name)),
          path,
        ).toEqual([])
      }
      const refused = await page.evaluate(
        async (path) => (await fetch(path, { method: 'DELETE' })).status,
        `${world.url}/v1/queues/${QUEUE}/messages/m-001`,
      )
      expect(refused).toBe(403)
      expect(await page.evaluate<string>('document.cookie')).toBe('')
      const expected = /401|403/
      expect(surfer.troubles().filter((text) => !expected.test(text))).toEqual([])
      await page.getByRole('button', { name: 'Log out' }).click()
      await page.getByLabel('Token').waitFor()
    })

    it('below a base path every link, file and call stays below it', async () => {
      world = await openWorld({ basePath: '/ops/punctual' })
      await fill(world.queue)
      const page = await surfer.open(`${world.ui}/messages/m-001?zone=utc`)
      const outside: string[] = []
      page.on('request', (request) => {
        if (!new URL(request.url()).pathname.startsWith('/ops/punctual/')) outside.push(request.url())
      })
      await settled(page)
      await page.getByRole('link', { name: 'Workers' }).click()
      await page.waitForURL(/\/ops\/punctual\/ui\/orders\/workers\?zone=utc$/)
      await settled(page)
      await page.reload()
      await settled(page)
      expect(outside).toEqual([])
    })
  })
}
