/** The broker of one test file: its own node, or the one that PUNCTUAL_TEST_AMQP names. */
import { afterAll, beforeAll } from 'vitest'
import { GIVEN_URL, HAS_RABBITMQ, RabbitServer, SKIPPED } from './server.ts'

export type Broker = {
  /** False: there is no broker, and nothing can be tested. */
  readonly isThere: boolean
  /** True: it is somebody else's, and must not be changed. */
  readonly isGiven: boolean
  readonly url: string
  readonly server: RabbitServer | undefined
  /** The node that may be killed and starved. */
  readonly owned: () => RabbitServer
}

export function useBroker(): Broker {
  const isGiven = GIVEN_URL !== undefined
  const isThere = isGiven || HAS_RABBITMQ
  let server: RabbitServer | undefined
  // oxlint-disable-next-line no-console
  if (!isThere) console.log(SKIPPED)
  beforeAll(async () => {
    if (isThere && !isGiven) server = await RabbitServer.start({ plugins: ['rabbitmq_management'] })
  })
  afterAll(async () => {
    await server?.stop()
  })
  const owned = (): RabbitServer => {
    if (server === undefined) throw new Error('this test needs a node of its own')
    return server
  }
  return {
    isThere,
    isGiven,
    owned,
    get url() {
      return GIVEN_URL ?? owned().url
    },
    get server() {
      return server
    },
  }
}
