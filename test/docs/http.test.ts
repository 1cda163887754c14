import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, it } from 'vitest'
import { HTTP_CODES } from '../../src/doors/http/wire/problem.ts'
import { ROUTES } from '../../src/doors/http/table/table.ts'

const TEXT = readFileSync(resolve(import.meta.dirname, '../../docs/http.md'), 'utf8')

it('docs/http.md speaks of every route, and of none that does not exist', () => {
  const named = [...TEXT.matchAll(/\b(GET|POST|PUT|PATCH|DELETE) (\/[\w/{}:.-]*[\w}])/g)].map(
    ([, method, path]) => `${method} ${path}`,
  )
  const routes = ROUTES.map(({ method, path }) => `${method} ${path}`)
  expect(routes.filter((route) => !named.includes(route))).toEqual([])
  expect(named.filter((route) => !routes.includes(route))).toEqual([])
})

it('docs/http.md lists every code of the door with its status', () => {
  const listed = [...TEXT.matchAll(/^\| `([A-Z_]+)` +\| (\d{3})/gm)].map(([, code, status]) => [
    code,
    Number(status),
  ])
  const codes = Object.entries(HTTP_CODES).map(([code, [status]]) => [code, status])
  expect(Object.fromEntries(listed)).toEqual({ ...Object.fromEntries(codes), CALL_INVALID: 400 })
})
