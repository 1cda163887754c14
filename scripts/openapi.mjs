// Writes docs/openapi.json from the table of routes. Run `npm run build` first; a test compares the two.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openApi } from '../dist/doors/http/table/openapi.js'
import { ROUTE_GROUPS } from '../dist/doors/http/table/table.js'

writeFileSync(
  join(import.meta.dirname, '..', 'docs', 'openapi.json'),
  `${JSON.stringify(openApi(ROUTE_GROUPS), undefined, 2)}\n`,
)
