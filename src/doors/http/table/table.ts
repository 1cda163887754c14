/** Every route of the server. The router, the scope checks, the OpenAPI document and the tests are made from this table. */
import { openApi } from './openapi.ts'
import { defineRoute, type HttpRoute } from './route.ts'
import { BASIC_ROUTES } from '../routes/basics.ts'
import { BATCH_ROUTES } from '../routes/batch.ts'
import { BULK_ROUTES } from '../routes/bulk.ts'
import { CONTROL_ROUTES } from '../routes/controls.ts'
import { KEY_ROUTES } from '../routes/keys.ts'
import { LEASE_ROUTES } from '../routes/leases.ts'
import { LIVE_ROUTES } from '../routes/live.ts'
import { LOOKING_ROUTES } from '../routes/looking.ts'
import { MESSAGE_ROUTES } from '../routes/messages.ts'
import { METRICS_ROUTES } from '../routes/metrics.ts'
import { PRODUCE_ROUTES } from '../routes/produce.ts'
import { SCHEDULE_ROUTES } from '../routes/schedules.ts'
import { anything } from '../schema/schema.ts'

const DOCUMENT_ROUTE = defineRoute({
  method: 'GET',
  path: '/openapi.json',
  operation: 'getApiDescription',
  scope: 'none',
  summary: 'this API, as OpenAPI 3.1',
  answers: { 200: anything() },
  handle: ({ server }) => ({ status: 200, text: JSON.stringify(openApi(ROUTE_GROUPS, server.basePath)) }),
})

/** By what they are about, as the OpenAPI document groups them. */
export const ROUTE_GROUPS: Readonly<Record<string, readonly HttpRoute[]>> = {
  produce: [...PRODUCE_ROUTES, ...BATCH_ROUTES],
  messages: MESSAGE_ROUTES,
  bulk: BULK_ROUTES,
  looking: [...LOOKING_ROUTES, ...LIVE_ROUTES, ...METRICS_ROUTES],
  controls: CONTROL_ROUTES,
  keys: KEY_ROUTES,
  schedules: SCHEDULE_ROUTES,
  workers: LEASE_ROUTES,
  server: [...BASIC_ROUTES, DOCUMENT_ROUTE],
}

export const ROUTES: readonly HttpRoute[] = Object.values(ROUTE_GROUPS).flat()
