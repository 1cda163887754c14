import { expect, it } from 'vitest'
import { ERROR_CODES } from '../../../src/index.ts'
import { openApi } from '../../../src/doors/http/table/openapi.ts'
import { HTTP_CODES, statusOf, titleOf, type ProblemCode } from '../../../src/doors/http/wire/problem.ts'
import { ROUTE_GROUPS, ROUTES } from '../../../src/doors/http/table/table.ts'
import { DOCUMENT } from './stand.ts'

it('docs/openapi.json is what the table says: npm run build && npm run docs:openapi', () => {
  expect(DOCUMENT).toEqual(JSON.parse(JSON.stringify(openApi(ROUTE_GROUPS))))
})

it('every route is in the document once, and nothing else is', () => {
  const shown = Object.entries(DOCUMENT.paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
  )
  const routes = ROUTES.map(({ method, path }) => `${method} ${path.replace('*}', '}')}`)
  expect(shown.toSorted()).toEqual(routes.toSorted())
})

it('every reference leads to a schema', () => {
  const refs = [...JSON.stringify(DOCUMENT).matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(
    ([, name]) => name,
  )
  expect(refs.length).toBeGreaterThan(50)
  for (const name of refs) expect(Object.keys(DOCUMENT.components.schemas)).toContain(name)
})

it('every code has a status and a title', () => {
  for (const code of [
    ...Object.keys(ERROR_CODES),
    ...Object.keys(HTTP_CODES),
    'CALL_INVALID',
    'FAILED',
    'UNEXPECTED',
  ] as ProblemCode[]) {
    expect(statusOf(code), code).toBeGreaterThanOrEqual(400)
    expect(titleOf(code), code).toMatch(/\w/)
  }
})

it('each operation has a name of its own, which is a word, and what it is about', () => {
  const operations = Object.values(DOCUMENT.paths).flatMap((methods) =>
    Object.values(methods),
  ) as unknown as {
    operationId: string
    tags: string[]
  }[]
  const ids = operations.map(({ operationId }) => operationId)
  expect(new Set(ids).size).toBe(ids.length)
  for (const { operationId, tags } of operations) {
    expect(operationId).toMatch(/^[a-z][A-Za-z]+$/)
    expect(Object.keys(ROUTE_GROUPS)).toContain(tags[0])
  }
})

it('the code of a problem is one of those that there are', () => {
  const { properties } = DOCUMENT.components.schemas.Problem as { properties: { code: { enum: string[] } } }
  const codes = [
    ...Object.keys(HTTP_CODES),
    ...Object.keys(ERROR_CODES),
    'CALL_INVALID',
    'FAILED',
    'UNEXPECTED',
  ]
  expect(properties.code.enum.toSorted()).toEqual(codes.toSorted())
})
