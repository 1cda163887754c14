import pg from 'pg'
import { beforeAll } from 'vitest'
import { describeKeys } from '../sql/keys.ts'
import { PostgresDatabase } from './server.ts'
import { storeAt } from './stores.ts'

let server: PostgresDatabase
beforeAll(async () => {
  server = await PostgresDatabase.make()
})

describeKeys(() => ({
  open: (queue) => storeAt(server.url, queue),
  query: (text) => server.query(text),
  begin: async () => {
    const client = new pg.Client({ connectionString: server.url })
    await client.connect()
    await client.query('begin')
    return client
  },
  prefix: 'punctual.',
  column: 'key',
  tables: ['turn', 'note'],
}))
