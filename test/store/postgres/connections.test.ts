import { describe, onTestFinished } from 'vitest'
import { fewConnectionsCases } from '../sql/few-connections.ts'
import { PostgresServer } from './server.ts'

describe('a server with few connections', () => {
  fewConnectionsCases(async (most) => {
    const settings = [`max_connections = ${most}`, 'superuser_reserved_connections = 0', 'autovacuum = off']
    const server = await PostgresServer.start({ settings })
    onTestFinished(() => server.stop())
    return server.url
  })
})
