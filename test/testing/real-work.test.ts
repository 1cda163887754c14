/** A virtual clock stands still while handlers do real work, and does not wait for those that wait for it. */
import { readFile, writeFile } from 'node:fs/promises'
import { createServer, connect, type AddressInfo, type Server, type Socket } from 'node:net'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Punctual, type Handler } from '../../src/index.ts'
import { VirtualClock } from '../../src/testing/index.ts'

let server: Server
let line: Socket

beforeAll(async () => {
  server = createServer((socket) => socket.on('data', (bytes) => setTimeout(() => socket.end(bytes), 30)))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
})

afterAll(() => {
  line?.destroy()
  server.close()
})

const dial = (): Socket => connect((server.address() as AddressInfo).port, '127.0.0.1')

async function ask(socket: Socket): Promise<void> {
  socket.write('?')
  await once(socket, 'data')
}

/** A queue with this handler, and a message that is due in an hour. */
async function inAnHour(
  handler: Handler,
  clock = new VirtualClock(),
): Promise<{ clock: VirtualClock; queue: Punctual }> {
  const queue = new Punctual({ store: 'memory:', clock, logger: false })
  queue.handle('a', handler)
  await queue.start()
  await queue.produce('a', 1, { id: 'x', delay: '1h' })
  return { clock, queue }
}

const file = join(tmpdir(), `punctual-real-work-${process.pid}`)

const REAL: Record<string, () => Promise<unknown>> = {
  'a file, several times': async () => {
    for (let turn = 0; turn < 5; turn += 1) await writeFile(file, 'y')
    await readFile(file)
  },
  'a timer of Node': () => pause(20),
  'a new connection': async () => {
    const socket = dial()
    await once(socket, 'connect')
    await ask(socket)
    socket.destroy()
  },
  'a connection that was open before': () => ask(line),
  'another process': () => promisify(execFile)(process.execPath, ['-e', '']),
}

describe('advance', () => {
  for (const [what, work] of Object.entries(REAL)) {
    it(`waits for a handler that uses ${what}`, async () => {
      line = dial()
      await once(line, 'connect')
      let runs = 0
      let ended = 0
      const { clock, queue } = await inAnHour(async () => {
        runs += 1
        await work()
        ended += 1
      })
      await clock.advance('3h')
      expect({ runs, ended }).toEqual({ runs: 1, ended: 1 })
      expect(await queue.get('x')).toBeUndefined()
      line.destroy()
    })
  }

  it('lets what a handler asks of its queue go on meanwhile', async () => {
    const seen: unknown[] = []
    const { clock, queue } = await inAnHour(async ({ extend }) => {
      await pause(5)
      seen.push(await extend('5m'))
      await queue.produce('a.next', 2)
      await pause(5)
      seen.push('end')
    })
    queue.handle('a.next', async () => {
      await pause(5)
      seen.push('next')
    })
    await clock.advance('1h')
    expect(seen).toHaveLength(3)
    expect(seen).toEqual(expect.arrayContaining([true, 'end', 'next']))
  })

  it('does not wait in real time for one that waits for the test, its signal or the clock', async () => {
    const before = performance.now()
    const gates: (() => void)[] = []
    const gate = new Promise<void>((resolve) => void gates.push(resolve))
    const waiting = await inAnHour(() => gate, new VirtualClock(undefined, { settleWithin: '1h' }))
    await waiting.clock.advance('1h')
    expect((await waiting.queue.get('x'))?.state).toBe('running')
    for (const open of gates) open()
    await waiting.clock.settle()
    expect(await waiting.queue.get('x')).toBeUndefined()

    const aborted = await inAnHour(
      ({ signal }) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      new VirtualClock(undefined, { settleWithin: '1h' }),
    )
    await aborted.clock.advance('61m')
    expect(await aborted.queue.get('x')).toMatchObject({ attempt: 1, state: 'delayed' })

    const clock = new VirtualClock(undefined, { settleWithin: '1h' })
    const timed = await inAnHour(() => new Promise<void>((resolve) => clock.schedule(30_000, resolve)), clock)
    await clock.advance('61m')
    expect(await timed.queue.get('x')).toBeUndefined()
    expect(performance.now() - before).toBeLessThan(60_000)
  })

  it('goes on when there was no sign of real work for as long as it was told to wait', async () => {
    const clock = new VirtualClock(undefined, { settleWithin: '50ms' })
    const { queue } = await inAnHour(async () => {
      await pause(5)
      await new Promise<void>((resolve) => clock.schedule(30_000, resolve))
    }, clock)
    await clock.advance('61m')
    expect(await queue.get('x')).toBeUndefined()
  })

  it('waits for no handler where settleWithin is 0', async () => {
    let ended = false
    const { clock } = await inAnHour(
      () => pause(200).then(() => (ended = true)),
      new VirtualClock(undefined, { settleWithin: 0 }),
    )
    await clock.advance('1h')
    expect(ended).toBe(false)
  })
})

describe('new VirtualClock', () => {
  it('begins at 2030-01-01 unless told otherwise', () => {
    expect(new VirtualClock().now()).toBe(Date.UTC(2030, 0, 1))
    expect(new VirtualClock(new Date(5)).now()).toBe(5)
  })

  it('refuses what is no moment', () => {
    for (const wrong of ['2030-01-01', NaN, new Date('?'), null])
      expect(() => new VirtualClock(wrong as never)).toThrow(
        expect.objectContaining({ code: 'OPTION_INVALID' }),
      )
  })
})
