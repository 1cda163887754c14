/** P4, P15 on PostgreSQL, through pg. */
import pg from 'pg'
import { beforeAll, onTestFinished } from 'vitest'
import { completing } from '../sql/completing.ts'
import { PostgresDatabase } from './server.ts'
import { freshQueue, storeAt } from './stores.ts'

let server: PostgresDatabase
beforeAll(async () => {
  server = await PostgresDatabase.make()
  await server.query('create table effects (id text not null)')
})

completing({
  isMissing: false,
  url: () => server.url,
  first: '$1',
  messages: 'punctual.message',
  freshQueue,
  storeAt: (queue, now) => storeAt(server.url, queue, { now }),
  query: (text, values) => server.query(text, values),
  client: async () => {
    const made = new pg.Client({ connectionString: server.url })
    await made.connect()
    onTestFinished(() => made.end())
    return made
  },
})
