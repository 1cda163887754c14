/**
 * An order that is not paid within 30 minutes is closed, and its stock given back; paying cancels that.
 *
 *   npm run example unpaid-order
 *
 * Half an hour passes in milliseconds here: the clock is virtual. Leave it out, and it is real.
 */
import { Punctual } from 'punctual'
import { VirtualClock } from 'punctual/testing'
import { Shop, type Topics } from './shop.ts'

const clock = new VirtualClock()
const queue = new Punctual<Topics>({ store: 'memory:', clock })
const shop = new Shop(queue)
await queue.start()

const show = (when: string): void => {
  const orders = [...shop.orders].map(([id, { status }]) => `${id} ${status}`).join(', ')
  console.log(`${when}: ${orders}; ${shop.stock.get('teapot')} teapots in stock`)
}

await shop.place('order-1', 'teapot', 2)
await shop.place('order-2', 'teapot', 1)
show('both placed')

await clock.advance('10m')
await shop.pay('order-2')
show('10 minutes later, one paid')

await clock.advance('20m')
show('after half an hour')

const stopping = queue.stop()
await clock.advance('1s')
await stopping
