/** Versions that know no keys and no windows are kept out of a store that has some. */
import { testMarking } from '../marking.ts'
import { PostgresDatabase } from './server.ts'

testMarking(async () => {
  const server = await PostgresDatabase.make()
  const oldest = async (): Promise<unknown> =>
    (await server.query('select max(oldest)::int as oldest from punctual.migration'))[0]?.['oldest']
  return { url: server.url, isMarked: async () => Number(await oldest()) > 1 }
})
