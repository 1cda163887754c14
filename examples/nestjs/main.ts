/**
 * Orders that close when they are not paid: NestJS, TypeORM, and a queue in the same PostgreSQL.
 *
 *   DATABASE_URL=postgres://localhost:5432/shop npm run example nestjs
 */
import 'reflect-metadata'
import { NestFactory } from '@nestjs/core'
import { AppModule } from './app.module.js'

const app = await NestFactory.create(AppModule)
app.enableShutdownHooks() // SIGTERM stops the queue: handlers that run may finish.
await app.listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1')
console.log(`listening on ${await app.getUrl()}`)
