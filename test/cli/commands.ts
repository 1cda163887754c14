/** Each command as a shell runs it, on whichever engine: a file per engine calls this, so that they run side by side. */
import { afterAll, describe, expect, it, type TestContext } from 'vitest'
import type { FoundMessage, QueueList, Stats } from '../../src/index.ts'
import type { Engine } from './engines.ts'
import { makePlace, type Place } from './punctual.ts'

/** A queue per test: they share the server. */
const on = (queue: string, ...words: string[]): string[] => [...words, '--queue', queue]

type Page = { items: FoundMessage[]; cursor?: string }

export function describeCommands(engine: Engine): void {
  describe.skipIf(engine.isMissing)(`on the ${engine.name} engine`, { concurrent: true }, () => {
    afterAll(engine.stop)

    async function place({ onTestFinished }: TestContext): Promise<Place> {
      return makePlace(await engine.store(), onTestFinished)
    }

    it('produce, get, list, stats: what went in is shown', async (context) => {
      const shell = await place(context)
      const words = [
        'produce',
        'order.close',
        '{"orderId":42}',
        '--at',
        '2030-01-01T09:00+01:00',
        '--id',
        'order-42',
      ]
      const produced = await shell.run(on('looking', ...words))
      expect(produced.stdout).toMatch(/^order-42: due 2030-01-01T08:00:00\.000Z \(in \d+d.*\)\n$/)
      expect(produced.code).toBe(0)

      expect(await shell.json(on('looking', 'get', 'order-42'))).toMatchObject({
        id: 'order-42',
        topic: 'order.close',
        payload: { orderId: 42 },
        state: 'delayed',
        dueAt: Date.UTC(2030, 0, 1, 8),
      })
      const shown = await shell.run(on('looking', 'get', 'order-42'))
      expect(shown.stdout).toContain('"orderId": 42')

      await shell.run(on('looking', 'produce', 'mail.send', '"hello"', '--priority', 'high', '--ttl', '1h'))
      const page = (await shell.json(on('looking', 'list'))) as Page
      expect(page.items.map(({ topic }) => topic).toSorted()).toEqual(['mail.send', 'order.close'])
      const one = (await shell.json(on('looking', 'list', '--limit', '1'))) as Page
      const rest = (await shell.json(on('looking', 'list', '--cursor', one.cursor ?? ''))) as Page
      expect([...one.items, ...rest.items]).toHaveLength(2)
      expect((await shell.run(on('looking', 'list', '--topic', 'mail.send'))).stdout).toMatch(
        /ready +mail\.send .*"hello"/,
      )

      const stats = (await shell.json(on('looking', 'stats'))) as Stats
      expect(stats.counts).toEqual({ delayed: 1, ready: 1, running: 0, dead: 0 })
      expect((await shell.run(on('looking', 'stats'))).stdout).toMatch(/order\.close +1 +0 +0/)
    })

    it('cancel and reschedule; what is missing is exit code 1', async (context) => {
      const shell = await place(context)
      await shell.run(on('moving', 'produce', 't', '1', '--id', 'a', '--delay', '1h'))
      expect((await shell.run(on('moving', 'reschedule', 'a', '--at', '2031-01-01T00:00Z'))).stdout).toMatch(
        /^a: due 2031-01-01T00:00:00\.000Z/,
      )
      expect(await shell.run(on('moving', 'cancel', 'a'))).toMatchObject({
        code: 0,
        stdout: 'a: cancelled\n',
      })
      expect(await shell.run(on('moving', 'cancel', 'a'))).toMatchObject({
        code: 1,
        stderr: 'a: there is no such message\n',
      })
      expect(await shell.run(on('moving', 'reschedule', 'a', '--delay', '1s'))).toMatchObject({ code: 1 })
      expect(await shell.run(on('moving', 'get', 'a'))).toMatchObject({
        code: 1,
        stderr: 'punctual: there is no message "a" in queue "moving".\n',
      })
    })

    it('dead, revive, purge', async (context) => {
      const shell = await place(context)
      await shell.write(
        'fails.mjs',
        `export default { t: { handler() { throw new Error('no\\u001B[31m\\nway') }, retry: { limit: 0 } } }`,
      )
      await shell.run(on('dying', 'produce', 't', '{"n":1}', '--id', 'a'))
      await shell.run(on('dying', 'produce', 't', '{"n":2}', '--id', 'b'))
      const worker = shell.start(on('dying', 'work', 'fails.mjs'))
      await worker.says('t a')
      await worker.says('t b')
      worker.signal('SIGTERM')
      expect((await worker.ended).code).toBe(0)

      const dead = await shell.run(on('dying', 'dead'))
      expect(dead.stdout).toMatch(/^a +t .* failed +Error: no.* +\{"n":1\}$/m)
      expect(dead.stdout).not.toContain('\u001B')
      expect(await shell.json(on('dying', 'revive', 'a'))).toEqual({ revived: 1 })
      expect(await shell.run(on('dying', 'revive', 'a'))).toMatchObject({ code: 1 })

      const asked = await shell.run(on('dying', 'purge', '--state', 'dead'))
      expect(asked.code).toBe(2)
      expect(asked.stderr).toMatch(/Remove 1 dead message from queue "dying" .* add --yes if you are sure/)
      expect(await shell.json(on('dying', 'purge', '--state', 'dead', '--yes'))).toEqual({ removed: 1 })
      expect((await shell.run(on('dying', 'purge', 'a', '-y'))).stdout).toBe('1 message removed\n')
      expect((await shell.run(on('dying', 'list'))).stdout).toBe('no messages\n')
    })

    it('doctor', async (context) => {
      const shell = await place(context)
      await shell.run(on('examined', 'produce', 't'))
      const { code, stdout } = await shell.run(on('examined', 'doctor'))
      expect(stdout).toMatch(/^[✓!] \S/)
      expect(code).toBe(0)
    })

    it('upcoming: how many come due per hour, and what is later', async (context) => {
      const shell = await place(context)
      const delays = ['0s', '3h', '3h', '5h', '900d']
      const stdin = delays.map((delay) => JSON.stringify({ topic: 't', delay })).join('\n')
      await shell.run(on('ahead', 'produce', '-'), { stdin })
      const forecast = await shell.json(on('ahead', 'upcoming', '--by', 'hour', '--bars', '7'))
      expect(forecast).toMatchObject({ unit: 'hour', due: 1, later: 1 })
      const { slots } = forecast as { slots: { count: number }[] }
      expect(slots.map(({ count }) => count).filter((count) => count > 0)).toEqual([2, 1])
      const { stdout } = await shell.run(on('ahead', 'upcoming'))
      expect(stdout).toMatch(/^5 messages wait; per \w+, zone Z\ndue now +1 +█/)
    })

    it('stats --watch: a document each time, until it is told to end', async (context) => {
      const shell = await place(context)
      await shell.run(on('watched', 'produce', 't', '1', '--delay', '1h'))
      const watching = shell.start(on('watched', 'stats', '--watch', '--every', '100ms', '--json'))
      await watching.says('"delayed":1')
      await shell.run(on('watched', 'produce', 't', '2', '--delay', '1h'))
      await watching.says('"delayed":2')
      watching.signal('SIGINT')
      expect((await watching.ended).code).toBe(0)
    })

    it('queues: which there are; stats of one that is not there says so', async (context) => {
      const shell = await place(context)
      await shell.run(on('mail', 'produce', 't', '1', '--delay', '1h'))
      await shell.run(on('orders', 'produce', 't', '1', '--delay', '1h'))
      const { names, isComplete } = (await shell.json(['queues'])) as QueueList
      expect(names).toEqual(expect.arrayContaining(['mail', 'orders']))
      expect(isComplete).toBe(true)
      expect((await shell.run(['queues'])).stdout).toMatch(/^mail\n(?:.*\n)*orders$/m)

      const typo = await shell.run(on('ordres', 'stats'))
      expect(typo.code).toBe(1)
      expect(typo.stderr).toMatch(/there is no queue "ordres" in this store; there are: .*mail.*orders/)
      expect(((await shell.json(['queues'])) as QueueList).names).not.toContain('ordres') // Asking made none.
    })

    it('backup: a store that can be looked into, or the way to get one', async (context) => {
      const shell = await place(context)
      await shell.run(on('copied', 'produce', 't', '1', '--delay', '1h'))
      const { code, stderr } = await shell.run(on('copied', 'backup', 'copy'))
      if (engine.name === 'redis') {
        expect(code).toBe(2)
        expect(stderr).toMatch(/redis engine has no backup of its own; .*redis-cli --rdb FILE/)
        return
      }
      expect(code).toBe(0)
      const stats = (await shell.json(on('copied', 'stats', '--store', 'file:copy'))) as Stats
      expect(stats.counts.delayed).toBe(1)
      expect(await shell.run(on('copied', 'backup', 'copy'))).toMatchObject({ code: 2 })
    })

    it('many from standard input, as payloads or as whole messages', async (context) => {
      const shell = await place(context)
      const payloads = Array.from({ length: 2_345 }, (_, i) => JSON.stringify({ i })).join('\n')
      const stored = await shell.run(on('many', 'produce', 't', '-', '--delay', '1h'), { stdin: payloads })
      expect(stored).toMatchObject({ code: 0, stdout: '2,345 messages stored\n', stderr: '' })
      const entries =
        '{"topic":"a","payload":1,"at":"2030-01-01T00:00Z"}\n\n{"topic":"b","delay":"5m","id":"x"}\n'
      expect(await shell.json(on('many', 'produce', '-'), { stdin: entries })).toEqual({ stored: 2 })
      const stats = (await shell.json(on('many', 'stats'))) as Stats
      expect(stats.counts.delayed).toBe(2_347)
      expect(stats.topics).toMatchObject({ a: { waiting: 1 }, b: { waiting: 1 }, t: { waiting: 2_345 } })
    })

    it('a bad line is named by its number, with what was stored before it', async (context) => {
      const shell = await place(context)
      const lines = [...Array.from({ length: 1_200 }, (_, i) => String(i)), '{oops']
      const { code, stdout, stderr } = await shell.run(on('bad', 'produce', 't', '-'), {
        stdin: lines.join('\n'),
      })
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(stderr).toMatch(
        /^punctual: line 1201 is not JSON: .* 1,000 messages before it stored; nothing after\.\n$/,
      )
      const refused = await shell.run(on('bad', 'produce', '-'), {
        stdin: '{"topic":"a","delay":"soon"}\n{"no":1}',
      })
      expect(refused.stderr).toMatch(/line 2 has no topic/)
      const soon = await shell.run(on('bad', 'produce', '-'), { stdin: '{"topic":"a","delay":"soon"}' })
      expect(soon.stderr).toMatch(/^punctual: lines 1 to 1: delay is "soon"/)
    })
  })
}
