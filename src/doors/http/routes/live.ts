/** Server-sent events: what changes on a queue. */
import { sleep } from '../../../clock.ts'
import { HttpRefusal } from '../wire/problem.ts'
import { defineRoute, type HttpReply, type ReplyStream } from '../table/route.ts'
import type { ServerParts } from '../parts.ts'
import type { Served } from '../served.ts'

/** Proxies close connections that say nothing. */
const COMMENT_MS = 15_000
const RETRY_MS = 2_000

export const LIVE_ROUTES = [
  defineRoute({
    method: 'GET',
    path: '/v1/queues/{queue}/events',
    scope: 'read',
    summary: 'live: counts, topics, bulk jobs and actions as server-sent events',
    answers: { 200: 'events' },
    refusals: ['PARKED_TOO_MANY'],
    handle: ({ request, served, server, who }): HttpReply => {
      const giveBack = server.listeners.take(who.name)
      if (giveBack === undefined)
        throw new HttpRefusal('PARKED_TOO_MANY', `${server.listeners.taken} listeners already; close some.`)
      return {
        status: 200,
        headers: {
          'content-type': 'text/event-stream',
          'cache-control': 'no-store',
          'x-accel-buffering': 'no',
        },
        stream: (out) => {
          out.closed.addEventListener('abort', giveBack)
          tell(out, served, server, request.header('last-event-id'))
        },
      }
    },
  }),
]

function tell(out: ReplyStream, served: Served, server: ServerParts, lastId: string | undefined): void {
  const over = new AbortController()
  const end = (): void => {
    if (over.signal.aborted) return
    over.abort()
    place.leave?.()
    out.end()
  }
  const place: { leave?: () => void } = {}
  const write = (text: string): void => {
    // Whoever reads too slowly comes back, and begins with what is newest.
    if (!out.write(text)) end()
  }
  write(`retry: ${RETRY_MS}\n\n`)
  place.leave = served.live.listen(write, lastId)
  out.closed.addEventListener('abort', end)
  server.stopping.addEventListener('abort', end)
  if (out.closed.aborted || server.stopping.aborted) end()
  void comment(write, server, over.signal)
}

async function comment(
  write: (text: string) => void,
  { clock }: ServerParts,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await sleep(clock, COMMENT_MS, signal)
    if (!signal.aborted) write(':\n\n')
  }
}
