/** Server-sent events: what changes on a queue. */
import { text as anyText } from '../schema/schema.ts'
import { sleep } from '../../../clock.ts'
import { tokenGone } from '../access/access.ts'
import { formatEvent } from '../live/live.ts'
import { HttpRefusal, problemOf } from '../wire/problem.ts'
import { defineRoute, type HttpCall, type HttpReply, type ReplyStream } from '../table/route.ts'
import type { ServerParts } from '../parts.ts'

/** Proxies close connections that say nothing. */
const COMMENT_MS = 15_000
const RETRY_MS = 2_000

export const LIVE_ROUTES = [
  defineRoute({
    method: 'GET',
    path: '/v1/queues/{queue}/events',
    operation: 'listenToEvents',
    scope: 'read',
    summary: 'live: counts, topics, bulk jobs and actions as server-sent events',
    headers: {
      'Last-Event-ID': anyText({ about: 'of the event that was heard last: those missed are told again' }),
    },
    answers: { 200: 'events' },
    refusals: ['PARKED_TOO_MANY'],
    topics: 'checked',
    handle: (call): HttpReply => {
      const { server, who } = call
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
          tell(out, call)
        },
      }
    },
  }),
]

function tell(out: ReplyStream, { request, served, server, who }: HttpCall): void {
  const over = new AbortController()
  const token = server.access.openCall(request, who)
  const leave: (() => void)[] = []
  const end = (): void => {
    if (over.signal.aborted) return
    over.abort()
    for (const one of leave) one()
    out.end()
  }
  const refuse = (): void => {
    if (!over.signal.aborted) out.write(formatEvent('refused', problemOf(tokenGone())))
    end()
  }
  const write = (text: string): void => {
    if (token.isOver()) return refuse()
    // A reader that is too slow comes back, and begins with what is newest.
    if (!out.write(text)) end()
  }
  write(`retry: ${RETRY_MS}\n\n`)
  leave.push(served.liveFor(who).listen(write, request.header('last-event-id')), token.whenOver(refuse))
  out.closed.addEventListener('abort', end)
  server.stopping.addEventListener('abort', end)
  if (out.closed.aborted || server.stopping.aborted) end()
  // What was written at once may have ended it before there was anything to leave.
  if (over.signal.aborted) for (const one of leave) one()
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
