/** P4, P15 on MySQL and MariaDB, through mysql2. */
import { createConnection } from 'mysql2/promise'
import { beforeAll, onTestFinished } from 'vitest'
import { completing } from '../sql/completing.ts'
import { freshDatabase, isMysqlThere, queryAt } from './server.ts'
import { freshQueue, storeAt } from './stores.ts'

let url = ''
beforeAll(async () => {
  if (!isMysqlThere) return
  url = await freshDatabase()
  await queryAt(url, 'create table effects (id varchar(50) not null)')
})

completing({
  isMissing: !isMysqlThere,
  url: () => url,
  first: '?',
  messages: 'punctual_message',
  freshQueue,
  storeAt: (queue, now) => storeAt(url, queue, { now }),
  query: (text, values) => queryAt(url, text, values),
  client: async () => {
    const made = await createConnection(url)
    onTestFinished(() => made.end())
    return made
  },
})
