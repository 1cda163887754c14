import { beforeAll, describe } from 'vitest'
import { describeKeys } from '../sql/keys.ts'
import { connectionTo, freshDatabase, isMysqlThere, queryAt } from './server.ts'
import { storeAt } from './stores.ts'

let url = ''
beforeAll(async () => {
  if (isMysqlThere) url = await freshDatabase()
})

describe.skipIf(!isMysqlThere)('keys', () => {
  describeKeys(() => ({
    open: (queue) => storeAt(url, queue),
    query: (text) => queryAt(url, text),
    begin: async () => {
      const connection = await connectionTo(url)
      await connection.query('begin')
      return connection
    },
    prefix: 'punctual_',
    column: 'its_key',
    tables: ['turn', 'note', 'keyed'],
  }))
})
