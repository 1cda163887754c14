/** A shop that reserves stock for an order, and gives it back when the order is not paid in time. */
import type { Duration, Punctual } from 'punctual'

export type Topics = { 'order.close': { orderId: string } }

type Order = { readonly item: string; readonly count: number; status: 'unpaid' | 'paid' | 'closed' }

export class Shop {
  readonly stock = new Map([['teapot', 5]])
  readonly orders = new Map<string, Order>()
  readonly #queue: Punctual<Topics>
  readonly #payWithin: Duration

  constructor(queue: Punctual<Topics>, payWithin: Duration = '30m') {
    this.#queue = queue
    this.#payWithin = payWithin
    queue.handle('order.close', ({ payload }) => this.#close(payload.orderId))
  }

  async place(orderId: string, item: string, count: number): Promise<void> {
    this.#move(item, -count)
    this.orders.set(orderId, { item, count, status: 'unpaid' })
    // An id made of the order's: placing it again, after a lost answer, does not close it twice.
    await this.#queue.produce('order.close', { orderId }, { id: `close-${orderId}`, delay: this.#payWithin })
  }

  async pay(orderId: string): Promise<boolean> {
    const order = this.orders.get(orderId)
    if (order?.status !== 'unpaid') return false
    order.status = 'paid'
    await this.#queue.cancel(`close-${orderId}`) // Its answer does not matter: see `#close`.
    return true
  }

  /** At least once, and perhaps at the very moment of the payment: so it looks before it acts. */
  #close(orderId: string): void {
    const order = this.orders.get(orderId)
    if (order?.status !== 'unpaid') return
    order.status = 'closed'
    this.#move(order.item, order.count)
  }

  #move(item: string, by: number): void {
    const left = (this.stock.get(item) ?? 0) + by
    if (left < 0) throw new Error(`only ${left - by} of ${item} left`)
    this.stock.set(item, left)
  }
}
