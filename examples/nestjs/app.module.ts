import type { IncomingMessage } from 'node:http'
import { Module } from '@nestjs/common'
import { TerminusModule } from '@nestjs/terminus'
import { TypeOrmModule } from '@nestjs/typeorm'
import { PunctualDoorModule, PunctualModule } from 'punctual/nest'
import { HealthController } from './health.controller.js'
import { Order } from './order.js'
import { OrdersController } from './orders.controller.js'
import { Orders } from './orders.js'

const url = process.env['DATABASE_URL'] ?? 'postgres://localhost:5432/shop'

/** Yours asks the session; what it answers are scopes. */
function admins(request: unknown): readonly ['read', 'operate'] | undefined {
  const { headers } = request as IncomingMessage
  return headers['x-role'] === 'admin' ? ['read', 'operate'] : undefined
}

@Module({
  imports: [
    TypeOrmModule.forRoot({ type: 'postgres', url, entities: [Order], synchronize: true }),
    TerminusModule,
    // The queue is in the database of the orders, so that both can be in one transaction.
    PunctualModule.forRootAsync({ useFactory: () => ({ store: url }) }),
    PunctualDoorModule.forRoot({ access: admins }), // The API at /punctual, the dashboard at /punctual/ui.
  ],
  controllers: [OrdersController, HealthController],
  providers: [Orders],
})
export class AppModule {}
