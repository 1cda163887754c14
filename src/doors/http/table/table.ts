/** Every route of the server. The router, the scope checks, the OpenAPI document and the tests are made from this table. */
import { openApi } from './openapi.ts'
import { defineRoute, type HttpRoute } from './route.ts'
import { BASIC_ROUTES } from '../routes/basics.ts'
import { BATCH_ROUTES } from '../routes/batch.ts'
import { BULK_ROUTES } from '../routes/bulk.ts'
import { CONTROL_ROUTES } from '../routes/controls.ts'
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
  scope: 'none',
  summary: 'this API, as OpenAPI 3.1',
  answers: { 200: anything() },
  handle: ({ server }) => ({ status: 200, text: JSON.stringify(openApi(ROUTES, server.basePath)) }),
})

export const ROUTES: readonly HttpRoute[] = [
  ...PRODUCE_ROUTES,
  ...BATCH_ROUTES,
  ...MESSAGE_ROUTES,
  ...BULK_ROUTES,
  ...LOOKING_ROUTES,
  ...CONTROL_ROUTES,
  ...SCHEDULE_ROUTES,
  ...LEASE_ROUTES,
  ...LIVE_ROUTES,
  ...METRICS_ROUTES,
  ...BASIC_ROUTES,
  DOCUMENT_ROUTE,
]
