import { describe, onTestFinished } from 'vitest'
import { fewConnectionsCases } from '../sql/few-connections.ts'
import { isMariaDbThere, MysqlServer } from './server.ts'

describe.skipIf(!isMariaDbThere)('a server with few connections', () => {
  fewConnectionsCases(async (most) => {
    // One more than that is kept for its administrator, who is our user here.
    const server = await MysqlServer.start({ settings: [`max-connections=${most - 1}`] })
    onTestFinished(() => server.stop())
    return server.url
  })
})
