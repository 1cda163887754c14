/** More workers than the server has connections for: one for each is enough to work. */
import { expect, it, onTestFinished } from 'vitest'
import { Punctual } from '../../../src/index.ts'
import { until } from '../redis/until.ts'

const MESSAGES = 200

/** `most`: how many connections the server allows; all of them are taken before one worker has its second. */
export function fewConnectionsCases(open: (most: number) => Promise<string>): void {
  it('as many workers as connections do all the work, and say what would make them quicker', async () => {
    const most = 12
    const store = await open(most)
    const told: string[] = []
    const logger = {
      debug: () => undefined,
      info: () => undefined,
      warn: (text: string) => void told.push(text),
      error: () => undefined,
    }
    const make = (): Punctual => {
      const queue = new Punctual({ store, logger, fallback: '500ms' })
      onTestFinished(() => queue.stop().then(() => undefined))
      return queue
    }
    const producer = make()
    await producer.produceMany(Array.from({ length: MESSAGES }, () => ({ topic: 't', delay: '1s' })))
    await producer.stop()
    let done = 0
    const workers = Array.from({ length: most }, make)
    for (const worker of workers) worker.handle('t', () => void (done += 1))
    // Each has its first connection before any asks for its second.
    await Promise.all(workers.map((worker) => worker.get('x')))
    await Promise.all(workers.map((worker) => worker.start()))
    await until('all were done', () => done === MESSAGES)
    expect(told.join('\n')).toMatch(/no connection left .*works with one.*raise max_connections/)
    const [some] = workers
    const report = await some?.doctor()
    expect(JSON.stringify(report)).toMatch(new RegExp(`${most} of \\d+ connections are taken`))
  })
}
