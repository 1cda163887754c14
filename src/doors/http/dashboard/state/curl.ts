/** A call as a shell would say it. The token stays a variable; a server without tokens needs none. */
import { BASE } from './address.ts'
import type { Method } from './api.ts'
import { session } from './session.ts'

export function asCurl(method: Method, path: string, body?: unknown): string {
  const isOpen = session.value.kind === 'in' && session.value.viewer.isOpen
  return [
    `curl ${method === 'GET' ? '' : `-X ${method} `}${quote(location.origin + BASE + path)}`,
    ...(isOpen ? [] : ['  -H "Authorization: Bearer $PUNCTUAL_TOKEN"']),
    ...(body === undefined
      ? []
      : [`  -H 'Content-Type: application/json'`, `  -d ${quote(JSON.stringify(body))}`]),
  ].join(' \\\n')
}

function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
