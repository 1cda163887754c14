/** Shapes with a name: the OpenAPI document shows each once and refers to it. */
import type { JsonSchema, Shape } from './schema.ts'

const NAMED = new Map<string, JsonSchema>()

export function named<T>(name: string, shape: Shape<T>): Shape<T> {
  NAMED.set(name, shape.json)
  return { ...shape, json: { $ref: `#/components/schemas/${name}` } }
}

export function namedSchemas(): Readonly<Record<string, JsonSchema>> {
  return Object.fromEntries([...NAMED].toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
