/**
 * Each command on whichever engine: a file per engine calls this, so that they run side by side. On files each is a process, as a
 * shell runs it; on the others most run in this process, and in processes in `commands.long.test.ts`: starting them costs five
 * times what they do.
 */
import { afterAll, describe, expect, it, type TestContext } from 'vitest'
import type { FoundMessage, QueueList, Stats } from '../../src/index.ts'
import type { Engine } from './engines.ts'
import { PlaceHere } from './in-process.ts'
import { makePlace, Place } from './punctual.ts'

/** A queue per test: they share the server. */
const on = (queue: string, ...words: string[]): string[] => [...words, '--queue', queue]

type Page = { items: FoundMessage[]; cursor?: string }

export function describeCommands(engine: Engine, Kind: typeof Place = PlaceHere): void {
  describe.skipIf(engine.isMissing)(`on the ${engine.name} engine`, { concurrent: true }, () => {
    afterAll(engine.stop)

    async function place({ onTestFinished }: TestContext, kind = Kind): Promise<Place> {
      return makePlace(await engine.store(), onTestFinished, kind)
    }

    it('produce, get, list, stats, in processes that end: what went in is shown', async (context) => {
      const shell = await place(context, Place)
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

    it('tags: what belongs together is found, counted and cancelled at once', async (context) => {
      const shell = await place(context)
      const put = (id: string, ...more: string[]): Promise<unknown> =>
        shell.run(on('tagged', 'produce', 't', '1', '--id', id, '--delay', '1h', ...more))
      await put('a', '--tag', 'customer-7')
      await put('b', '--tag', 'customer-7', '--tag', 'invoice')
      await put('c')
      const idsOf = async (...words: string[]): Promise<string[]> =>
        ((await shell.json(on('tagged', 'list', ...words))) as Page).items.map(({ id }) => id).toSorted()
      expect(await idsOf('--tag', 'customer-7')).toEqual(['a', 'b'])
      expect(await shell.json(on('tagged', 'get', 'b'))).toMatchObject({ tags: ['customer-7', 'invoice'] })
      expect(await shell.run(on('tagged', 'cancel', '--tag', 'customer-7', '--dry-run'))).toMatchObject({
        code: 0,
        stdout: '2 messages would be cancelled\n',
      })
      expect(await idsOf()).toEqual(['a', 'b', 'c'])
      expect(await shell.run(on('tagged', 'cancel', '--tag', 'customer-7', '--yes'))).toMatchObject({
        code: 0,
      })
      expect(await idsOf()).toEqual(['c'])
      expect(await shell.run(on('tagged', 'cancel', 'c', '--tag', 'x'))).toMatchObject({ code: 2 })
    })

    it('remember: an id that was cancelled is free again', async (context) => {
      const shell = await place(context)
      const put = (): Promise<unknown> =>
        shell.run(on('kept', 'produce', 't', '1', '--id', 'once', '--delay', '1h', '--remember', '1d'))
      await put()
      expect(await shell.run(on('kept', 'cancel', 'once'))).toMatchObject({ code: 0 })
      await put()
      expect(await shell.json(on('kept', 'get', 'once'))).toMatchObject({ state: 'delayed' })
      expect(await put()).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(
          /^once: was there already, and nothing was stored .*, due 20/,
        ) as string,
      })
      expect(await shell.json(on('kept', 'produce', 't', '2', '--id', 'once'))).toMatchObject({ kept: true })
      expect(await shell.json(on('kept', 'get', 'once'))).toMatchObject({
        payload: 1,
        rememberMs: 86_400_000,
      })
    })

    it('produce of an id that is taken: by another topic, or where it must be free', async (context) => {
      const shell = await place(context)
      const put = (topic: string, ...more: string[]): string[] =>
        on('taken', 'produce', topic, '1', '--id', 'x', '--delay', '1h', ...more)
      await shell.run(put('mail.send', '--timeout', '90s', '--remember', '1d'))
      expect((await shell.run(put('order.close'))).stdout).toMatch(
        /^x: was there already as a message of "mail\.send", and nothing was stored /,
      )
      expect(await shell.json(put('order.close'))).toMatchObject({ id: 'x', topic: 'mail.send', kept: true })
      const refused = await shell.run(put('mail.send', '--if-exists', 'fail'))
      expect(refused).toMatchObject({ code: 1, stdout: '' })
      expect(refused.stderr).toMatch(
        /a message with id "x" exists, .* --if-exists keep or replace\. See punctual\/docs\/errors\.md#id_exists\n$/,
      )
      expect(await shell.json(put('mail.send', '--if-exists', 'fail'))).toMatchObject({ code: 'ID_EXISTS' })
      expect(await shell.json(on('taken', 'get', 'x'))).toMatchObject({
        timeoutMs: 90_000,
        rememberMs: 86_400_000,
      })
      expect((await shell.run(on('taken', 'get', 'x'))).stdout).toMatch(/^timeout +1m 30s\nremember +1d$/m)
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
      expect(await shell.run(on('dying', 'cancel', 'a'))).toMatchObject({
        code: 1,
        stderr: 'a: is a dead letter: "purge" removes it, "revive" starts it again\n',
      })
      const looked = await shell.json(on('dying', 'revive', '--state', 'dead', '--dry-run'))
      expect(looked).toEqual({ revived: 2, dryRun: true })
      expect(await shell.json(on('dying', 'revive', 'a'))).toEqual({ revived: 1 })
      expect(await shell.run(on('dying', 'revive', 'a'))).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('a: no such dead letter') as string,
      })

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
      expect(stdout).toMatch(/^5 messages wait; per \w+, UTC\ndue now +1 +█/)
    })

    it('schedule: set, list, next, pause, resume, remove', async (context) => {
      const shell = await place(context)
      const set = on(
        'recurs',
        'schedule',
        'set',
        'daily',
        'report',
        '{"n":1}',
        '--every',
        '1h',
        '--spread',
        '1m',
      )
      expect(await shell.json(set)).toMatchObject({ name: 'daily', result: 'created' })
      expect(await shell.json(set)).toMatchObject({ result: 'unchanged' })
      const { items } = (await shell.json(on('recurs', 'schedule', 'list'))) as { items: object[] }
      expect(items).toMatchObject([{ name: 'daily', topic: 'report', everyMs: 3_600_000, spreadMs: 60_000 }])
      const cron = ['--cron', '30 2 * * *', '--zone', 'Europe/Berlin', '--count', '3']
      const { moments } = (await shell.json(on('recurs', 'schedule', 'next', ...cron))) as {
        moments: number[]
      }
      expect(moments).toHaveLength(3)
      expect((await shell.run(on('recurs', 'schedule', 'list'))).stdout).toMatch(/daily +report +every 1h/)
      for (const verb of ['pause', 'resume', 'remove'])
        expect((await shell.run(on('recurs', 'schedule', verb, 'daily'))).code).toBe(0)
      expect((await shell.run(on('recurs', 'schedule', 'remove', 'daily'))).code).toBe(1)
      expect((await shell.run(on('recurs', 'schedule', 'sat'))).code).toBe(2)
      expect(await shell.run(on('recurs', 'schedule', 'next', 'daily'))).toMatchObject({
        code: 1,
        stdout: '',
        stderr: 'punctual: there is no schedule "daily" in queue "recurs".\n',
      })
      expect(await shell.json(on('recurs', 'stats'))).toMatchObject({ counts: { delayed: 0 } })
    })

    it('list: by moment, id and text; the page says how far it looked', async (context) => {
      const shell = await place(context)
      const cities = ['Oslo', 'Rome', 'Oslo', 'Paris']
      const lines = cities.map((city, i) => ({
        topic: 't',
        payload: { city },
        id: `o-${i}`,
        delay: `${i + 1}h`,
      }))
      await shell.run(on('sought', 'produce', '-'), {
        stdin: lines.map((line) => JSON.stringify(line)).join('\n'),
      })
      const found = async (...words: string[]): Promise<string[]> =>
        ((await shell.json(on('sought', 'list', ...words))) as Page).items.map(({ id }) => id).toSorted()
      expect(await found('--text', '"Oslo"')).toEqual(['o-0', 'o-2'])
      expect(await found('--due-from', '90m', '--due-until', '210m')).toEqual(['o-1', 'o-2'])
      expect(await found('--id-prefix', 'o-3', '--due-from', '2020-01-01T00:00Z')).toEqual(['o-3'])
      const nothing = await shell.json(on('sought', 'list', '--text', 'Lima'))
      expect(nothing).toMatchObject({ items: [], scanned: expect.any(Number) as number })
      expect((await shell.run(on('sought', 'list', '--text', 'Lima', '--all'))).stdout).toBe('no messages\n')
    })

    it('why: not due, what it waits for, dead, unknown', async (context) => {
      const shell = await place(context)
      await shell.write(
        'fails.mjs',
        `export default {
          once: { handler() { throw new Error('no way') }, retry: { delays: ['1h'] } },
          never: { handler() { throw new Error('no way') }, retry: { limit: 0 } },
        }`,
      )
      const messages = [
        { topic: 't', id: 'later', delay: '1h' },
        { topic: 't', id: 'due' },
        { topic: 'once', id: 'again' },
        { topic: 'never', id: 'over' },
      ]
      const stdin = messages.map((message) => JSON.stringify(message)).join('\n')
      await shell.run(on('asked', 'produce', '-'), { stdin })
      const worker = shell.start(on('asked', 'work', 'fails.mjs'))
      await Promise.all([worker.says('once again'), worker.says('never over')])
      worker.signal('SIGTERM')
      await worker.ended
      const why = async (id: string): Promise<string> => (await shell.run(on('asked', 'why', id))).stdout
      expect(await why('later')).toMatch(/^later is not due yet: \S+Z \(in (59m|1h).*\)\n/)
      expect(await why('due')).toMatch(
        /^due has been due for .*, and (no living worker handles|waits for a slot)/,
      )
      expect(await why('again')).toMatch(/^again waits for attempt 2: .*\nAttempt 1 failed: Error: no way\n/)
      expect(await why('over')).toMatch(/^over is dead since .*: failed\nAttempt 1 failed: Error: no way\n/)
      expect(await shell.json(on('asked', 'why', 'again'))).toMatchObject({ kind: 'retry', attempt: 1 })
      const unknown = await shell.run(on('asked', 'why', 'nobody'))
      expect(unknown).toMatchObject({ code: 1, stdout: '' })
      expect(unknown.stderr).toMatch(/^nobody: there is no such message in queue "asked"\n/)
      expect(await shell.json(on('asked', 'why', 'nobody'))).toEqual({ kind: 'unknown', id: 'nobody' })
    })

    it('workers: who is there, and who left', async (context) => {
      const shell = await place(context)
      const worker = shell.start(on('staffed', 'work', '--exec', 't=true', '--concurrency', '3'))
      await shell.run(on('staffed', 'produce', 't'))
      await worker.says('completed')
      const { stdout } = await shell.run(on('staffed', 'workers'))
      expect(stdout).toMatch(new RegExp(`:${worker.child.pid} +alive .* \\d/3 .* t$`, 'm'))
      worker.signal('SIGTERM')
      await worker.ended
      expect(await shell.json(on('staffed', 'workers'))).toMatchObject({ state: 'gone' })
    })

    it('stats and the doctor name what is overdue', async (context) => {
      const shell = await place(context)
      const lines = Array.from({ length: 16 }, () => '{"topic":"bom","at":"2020-01-01T00:00Z"}')
      await shell.run(on('overdue', 'produce', '-'), { stdin: lines.join('\n') })
      await shell.run(on('overdue', 'produce', 't', '1', '--delay', '1h'))
      const { code, stdout } = await shell.run(on('overdue', 'doctor'))
      expect(code).toBe(1)
      expect(stdout).toMatch(/^✗ (topic "bom" is overdue: )?16 messages due, the oldest since \d+d/)
      const stats = await shell.run(on('overdue', 'stats', '--topic', 'bom', '--topic', 'nobody'))
      expect(stats.stdout).toMatch(/bom +16 +0 +0/)
      expect(stats.stdout).toMatch(/nobody +0 +0 +0/)
      expect(stats.stdout).toMatch(/due since 2020-01-01T00:00:00\.000Z/)
      const top = (await shell.run(on('overdue', 'stats', '--top', '1'))).stdout
      expect(top).toMatch(/bom +16 .*\n1 more topic; --topic TOPIC shows one/)
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
      if (engine.name !== 'file') {
        expect(code).toBe(2)
        expect(stderr).toMatch(
          /(redis|postgres|mysql) engine has no backup of its own; .*(redis-cli --rdb FILE|pg_dump|mysqldump)/,
        )
        return
      }
      expect(code).toBe(0)
      const stats = (await shell.json(on('copied', 'stats', '--store', 'file:copy'))) as Stats
      expect(stats.counts.delayed).toBe(1)
      expect(await shell.run(on('copied', 'backup', 'copy'))).toMatchObject({ code: 2 })
    })

    it('migrate: twice is fine; what it would send can be shown where there is something', async (context) => {
      const shell = await place(context)
      await shell.run(on('migrated', 'produce', 't', '1'))
      for (let i = 0; i < 2; i += 1)
        expect(await shell.run(on('migrated', 'migrate'))).toMatchObject({ code: 0, stderr: '' })
      const { code, stdout } = await shell.run(on('migrated', 'migrate', '--print'))
      const isSql = engine.name === 'postgres' || engine.name === 'mysql'
      expect(code).toBe(isSql ? 0 : 1)
      expect(stdout.includes('create table')).toBe(isSql)
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
