/** Five people look at the same page: the store is asked as if it were one. */
import { expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../../../src/clock.ts'
import { MemoryStore } from '../../../../src/store/memory/store.ts'
import { FaultyStore } from '../../../../src/testing/index.ts'
import { settled, until, type Surfer } from '../browser.ts'
import { openWorld } from '../world.ts'

const PEOPLE = 5

export function describeWatching(surfer: Surfer): void {
  it('five dashboards share one forecast at every beat', async () => {
    const store = new FaultyStore(new MemoryStore(systemClock), systemClock)
    const world = await openWorld({ store })
    onTestFinished(async () => {
      await surfer.leave()
      await world.close()
    })
    await world.queue.produce('mail.send', {}, { delay: '1h' })
    for (let i = 0; i < PEOPLE; i += 1) await settled(await surfer.open(world.ui))
    const before = store.calls.length
    const since = (verb: string): number => store.calls.slice(before).filter((one) => one === verb).length
    // The full reading, every fifth second, asks for controls, and so does the list of workers; a beat follows it.
    const readings = (): number => since('controls') - since('workers')
    await until(readings).toBeGreaterThanOrEqual(2)
    // What follows the first of the two beats has come by now. On a slow machine one of the five may miss the shared answer.
    expect(since('forecast')).toBeLessThanOrEqual(2 * readings())
    expect(since('count')).toBeGreaterThan(readings())
  })
}
