/** When a session is called deaf, and who hears of it. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { systemRandom } from '../../../src/random.ts'
import { PostgresListener } from '../../../src/store/postgres/link/listener.ts'
import { openPostgresStore } from '../../../src/store/postgres/open.ts'
import { message } from '../../../src/testing/conformance/stand.ts'
import { VirtualClock } from '../../../src/testing/virtual-clock.ts'
import { gate } from '../../runtime/world.ts'
import { until } from '../redis/until.ts'
import { PostgresServer } from './server.ts'
import { context } from './stores.ts'

let server: PostgresServer
beforeAll(async () => {
  server = await PostgresServer.start()
})
afterAll(() => server?.stop())

type Notify = (channel: string) => Promise<unknown>

/** As the default one: it prints warnings and errors only. */
function quietLogger(log: string[]): { warn: (line: string) => void; error: (line: string) => void } {
  return { warn: (line) => void log.push(line), error: (line) => void log.push(line) }
}

function listen(clock: VirtualClock, log: string[], notify: Notify): PostgresListener {
  const listener = new PostgresListener({
    urls: [server.url],
    allowed: [],
    server: 'pg',
    name: 'punctual:wakeups',
    clock,
    random: systemRandom,
    logger: quietLogger(log),
    connectTimeoutMs: 60_000,
    callTimeoutMs: 60_000,
    channel: 'rings',
    echoChannel: 'echo',
    heardRing: () => undefined,
    schema: 'punctual',
    writes: { call: ({ values = [] }) => notify(String(values[0])) },
    isDeaf: false,
  })
  onTestFinished(() => listener.close())
  listener.start()
  return listener
}

describe('the echo', () => {
  it('has its time from when the question was sent: one that waited for the server is no sign of deafness', async () => {
    const [clock, log] = [new VirtualClock(), [] as string[]]
    const sending = gate()
    let asked = 0
    const listener = listen(clock, log, async (channel) => {
      asked += 1
      await sending.opened
      return server.query('select pg_notify($1, $2)', [channel, ''])
    })
    await until('it is asked', () => asked === 1)
    await clock.advance('3s')
    expect(listener.hearing).toBe('unknown')
    sending.open()
    await until('it hears', () => listener.hearing === 'hears')
    expect(log).toEqual([])
  })

  it('that does not come is told as a warning, and so is one that comes again', async () => {
    const [clock, log] = [new VirtualClock(), [] as string[]]
    let isLost = true
    let asked = 0
    const listener = listen(clock, log, async (channel) => {
      asked += 1
      if (!isLost) await server.query('select pg_notify($1, $2)', [channel, ''])
    })
    await until('it is asked', () => asked === 1)
    await clock.advance('2s')
    await until('it is deaf', () => listener.hearing === 'deaf')
    isLost = false
    await clock.advance('15s')
    await until('it hears', () => listener.hearing === 'hears')
    expect(log).toEqual([
      expect.stringContaining('pg: wake-ups do not arrive here'),
      'pg: wake-ups arrive again',
    ])
  })
})

it('a restart of the server is told once by each connection, and its return too', async () => {
  const own = await PostgresServer.start()
  onTestFinished(() => own.stop())
  const log: string[] = []
  const store = openPostgresStore(own.url, { ...context(), logger: quietLogger(log) })
  onTestFinished(() => store.close())
  await store.open()
  store.onWake(() => undefined)
  await until('it hears', async () => (await store.doctor()).some(({ what }) => what === 'wake-ups arrive'))
  await own.end('SIGINT')
  await until('both have told', () => log.length === 2)
  await own.resume()
  await until('it stores', async () => (await store.put([message('a')]))[0] !== undefined)
  const back = (): Set<string> => new Set(log.filter((line) => line.endsWith(' is back')))
  await until('both are back', () => back().size === 2)
  expect(log.filter((line) => line.includes('wake-ups'))).toEqual([])
})
