/** Versions that know no keys and no windows are kept out of a store that has some. */
import { onTestFinished } from 'vitest'
import { testMarking } from '../marking.ts'
import { RedisServer } from './server.ts'

testMarking(async () => {
  const server = await RedisServer.start()
  onTestFinished(() => server.stop())
  const mark = (): Promise<unknown> => server.admin(['GET', 'punctual:3:{default}:payload'])
  return { url: server.url, isMarked: async () => (await mark()) === 'keys' }
})
