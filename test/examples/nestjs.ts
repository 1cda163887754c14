/** What the example `nestjs` must do, on any version of Nest and behind either of its servers. */
import { expect } from 'vitest'
import type { Application } from './application.ts'
import { proveShop } from './shop.ts'

export async function proveNestShop(app: Application, database: string): Promise<void> {
  // As @nestjs/terminus tells it.
  expect((await app.ask('/health')).body).toMatchObject({ info: { punctual: { status: 'up' } } })
  await proveShop(app, database, 'SIGTERM') // Nest repeats the signal once its modules have ended.
}
