/** The example `nestjs` is a whole application on PostgreSQL: it compiles, and does what its page says. */
import { it } from 'vitest'
import { PostgresDatabase } from '../store/postgres/server.ts'
import { Application, project } from './application.ts'
import { proveNestShop } from './nestjs.ts'

it('nestjs, on Nest 12 and Express', async () => {
  const directory = await project('nestjs')
  const { url } = await PostgresDatabase.make()
  await proveNestShop(await Application.start(directory, { DATABASE_URL: url }), url)
})
