import { Injectable } from '@nestjs/common'
import type { Punctual } from 'punctual'
import { DataSource } from 'typeorm'
import { Order } from './order.js'
import { Handler, InjectQueue, type CloseOrder, type Topics } from './queue.js'

@Injectable()
export class Orders {
  constructor(
    private readonly db: DataSource,
    @InjectQueue() private readonly queue: Punctual<Topics>,
  ) {}

  /** The order and the moment at which it closes: one commit, or neither. */
  async place(orderId: number, delay: number, isRefused: boolean): Promise<void> {
    await this.db.transaction(async (transaction) => {
      await transaction.insert(Order, { id: orderId, status: 'open' })
      await this.queue.produce('order.close', { orderId }, { id: `close-${orderId}`, delay, transaction })
      if (isRefused) throw new Error('the card was refused')
    })
  }

  /** Paid, and no longer to be closed. */
  async pay(orderId: number): Promise<void> {
    await this.db.manager.update(Order, { id: orderId }, { status: 'paid' })
    await this.queue.cancel(`close-${orderId}`)
  }

  /** The row and the end of the message: one commit, so that it happens once. */
  @Handler('order.close', { concurrency: 10 })
  async close({ payload, complete }: CloseOrder): Promise<void> {
    await this.db.transaction(async (transaction) => {
      await transaction.update(Order, { id: payload.orderId, status: 'open' }, { status: 'closed' })
      await complete({ transaction })
    })
  }

  async find(orderId: number): Promise<Order | null> {
    return this.db.manager.findOneBy(Order, { id: orderId })
  }
}
