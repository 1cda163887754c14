/**
 * What a probe asks of a worker: `/healthz` answers 200 as long as the event loop of this process turns. It does not ask the store,
 * for which a worker waits by itself: an outage must not restart every worker at once.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { errorCode } from '../../../core/errors.ts'
import { FailedError } from '../../shared/failure.ts'

const PATH = '/healthz'

/** Answers what ends it. All addresses: the one who probes is elsewhere, and learns nothing but that the process lives. */
export async function answerProbes(port: number): Promise<() => void> {
  const server = createServer(({ url = '' }, response) => {
    response.statusCode = new URL(url, 'http://worker').pathname === PATH ? 200 : 404
    response.setHeader('content-type', 'text/plain; charset=utf-8')
    response.end(response.statusCode === 200 ? 'ok\n' : `not found; ask ${PATH}\n`)
  })
  try {
    await once(server.listen(port), 'listening')
  } catch (error) {
    throw new FailedError(
      `--health: port ${port} cannot be used (${errorCode(error)}); give another one, above 1023.`,
    )
  }
  server.unref() // It is no reason to stay.
  return () => {
    server.close()
    server.closeAllConnections()
  }
}
