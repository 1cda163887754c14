import { Body, Controller, Get, NotFoundException, Param, ParseIntPipe, Post } from '@nestjs/common'
import { Order } from './order.js'
import { Orders } from './orders.js'

@Controller('orders')
export class OrdersController {
  constructor(private readonly orders: Orders) {}

  @Post()
  async place(@Body() order: { id: number; closesIn: number; isRefused?: boolean }): Promise<{ id: number }> {
    await this.orders.place(order.id, order.closesIn, order.isRefused === true)
    return { id: order.id }
  }

  @Post(':id/payment')
  async pay(@Param('id', ParseIntPipe) id: number): Promise<void> {
    await this.orders.pay(id)
  }

  @Get(':id')
  async find(@Param('id', ParseIntPipe) id: number): Promise<Order> {
    const order = await this.orders.find(id)
    if (order === null) throw new NotFoundException()
    return order
  }
}
