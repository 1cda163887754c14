/** Versions that know no keys and no windows are kept out of a store that has some. */
import { describe } from 'vitest'
import { testMarking } from '../marking.ts'
import { freshDatabase, isMysqlThere, queryAt } from './server.ts'

describe.skipIf(!isMysqlThere)('marking', () => {
  testMarking(async () => {
    const url = await freshDatabase()
    const oldest = async (): Promise<unknown> =>
      (await queryAt(url, 'select max(oldest) as oldest from punctual_migration'))[0]?.['oldest']
    return { url, isMarked: async () => Number(await oldest()) > 1 }
  })
})
