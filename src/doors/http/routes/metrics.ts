/** For collectors: every queue that the token is for, this process, and this server. */
import { endsWithin } from '../../../clock.ts'
import type { MetricFamilies } from '../../../core/metrics/families.ts'
import { readMetrics } from '../../../queue/looking/metrics.ts'
import { mayUseQueue } from '../access/caller.ts'
import type { ServerParts } from '../parts.ts'
import { defineRoute } from '../table/route.ts'
import { HttpRefusal } from '../wire/problem.ts'

/** Of the three seconds that an answer may take. */
const NAMES_MS_MAX = 1_000

export const METRICS_ROUTES = [
  defineRoute({
    method: 'GET',
    path: '/metrics',
    operation: 'getMetrics',
    scope: 'read',
    summary: 'figures for a monitoring system, in the text format of Prometheus',
    answers: { 200: 'text' },
    handle: async ({ server, who }) => {
      if (who.topicPrefix !== undefined)
        throw new HttpRefusal('FORBIDDEN', 'metrics tell of all topics; this token is for some of them.')
      const { clock } = server
      const askedAt = clock.monotonic()
      // Finds new queues of the store. One that is away or slow tells them later: what is known is told.
      await endsWithin(
        clock,
        NAMES_MS_MAX,
        server.queues.names().catch(() => undefined),
      )
      const served = server.queues.all.filter(({ name }) => mayUseQueue(who, name))
      const { text, contentType } = await readMetrics(
        served.map(({ metrics }) => metrics),
        { addMore: (families) => addServer(families, server), spentMs: clock.monotonic() - askedAt },
      )
      return { status: 200, text, headers: { 'content-type': contentType, 'cache-control': 'no-store' } }
    },
  }),
]

function addServer(families: MetricFamilies, { answered, parked, listeners }: ServerParts): void {
  for (const [digit, count] of answered.entries())
    if (digit >= 2) families.add('punctual_http_requests_total', { status: `${digit}xx` }, count)
  families.add('punctual_http_waiting_calls', {}, parked.taken)
  families.add('punctual_http_listeners', {}, listeners.taken)
}
