/** As much of JSON Schema as our own document uses. A keyword that it does not know fails, so that none is ignored. */

type Schema = Readonly<Record<string, unknown>>

const KNOWN = new Set(
  '$ref type enum const anyOf oneOf properties required additionalProperties items maxItems minimum maximum maxLength pattern format description'.split(
    ' ',
  ),
)

/** What is wrong with the value; empty when nothing is. */
export function mismatches(
  schema: Schema,
  value: unknown,
  schemas: Readonly<Record<string, Schema>>,
): string[] {
  return look(schema, value, '$', schemas)
}

function look(
  schema: Schema,
  value: unknown,
  at: string,
  schemas: Readonly<Record<string, Schema>>,
): string[] {
  const unknown = Object.keys(schema).filter((keyword) => !KNOWN.has(keyword))
  if (unknown.length > 0) return [`${at}: the document uses ${unknown.join(', ')}`]
  if (typeof schema.$ref === 'string') {
    const named = schemas[schema.$ref.replace('#/components/schemas/', '')]
    return named === undefined ? [`${at}: no schema ${schema.$ref}`] : look(named, value, at, schemas)
  }
  for (const keyword of ['anyOf', 'oneOf'] as const) {
    const choices = schema[keyword] as readonly Schema[] | undefined
    if (choices?.every((choice) => look(choice, value, at, schemas).length > 0) === true)
      return [`${at}: fits none of ${keyword}: ${JSON.stringify(value)}`]
  }
  return [...lookPlain(schema, value, at), ...lookInside(schema, value, at, schemas)]
}

function lookPlain(
  { type, enum: choices, const: only, minimum, maximum, maxLength, pattern }: Schema,
  value: unknown,
  at: string,
): string[] {
  const wrong: string[] = []
  const say = (isWrong: boolean, what: string): void => {
    if (isWrong) wrong.push(`${at}: ${what}: ${JSON.stringify(value)}`)
  }
  if (typeof type === 'string') say(!isOfType(type, value), `not of type ${type}`)
  if (Array.isArray(choices)) say(!choices.includes(value), 'none of the choices')
  if (only !== undefined) say(value !== only, 'not the one value')
  if (typeof value === 'number') {
    if (typeof minimum === 'number') say(value < minimum, 'too small')
    if (typeof maximum === 'number') say(value > maximum, 'too large')
  }
  if (typeof value === 'string') {
    if (typeof maxLength === 'number') say(value.length > maxLength, 'too long')
    if (typeof pattern === 'string') say(!new RegExp(pattern).test(value), 'does not fit the pattern')
  }
  return wrong
}

function isOfType(type: string, value: unknown): boolean {
  switch (type) {
    case 'integer':
      return Number.isInteger(value)
    case 'array':
      return Array.isArray(value)
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value)
    default:
      return typeof value === type
  }
}

function lookInside(
  schema: Schema,
  value: unknown,
  at: string,
  schemas: Readonly<Record<string, Schema>>,
): string[] {
  if (Array.isArray(value)) {
    const { items, maxItems } = schema
    if (typeof maxItems === 'number' && value.length > maxItems) return [`${at}: too many`]
    if (items === undefined) return []
    return value.flatMap((item, i) => look(items as Schema, item, `${at}[${i}]`, schemas))
  }
  if (typeof value !== 'object' || value === null) return []
  const {
    properties = {},
    required = [],
    additionalProperties,
  } = schema as {
    properties?: Record<string, Schema>
    required?: readonly string[]
    additionalProperties?: boolean | Schema
  }
  const missing = required
    .filter((name) => !Object.hasOwn(value, name))
    .map((name) => `${at}.${name}: missing`)
  const inside = Object.entries(value).flatMap(([name, part]) => {
    const known = Object.hasOwn(properties, name) ? properties[name] : undefined
    if (known !== undefined) return look(known, part, `${at}.${name}`, schemas)
    if (additionalProperties === false) return [`${at}.${name}: not in the document`]
    return typeof additionalProperties === 'object'
      ? look(additionalProperties, part, `${at}.${name}`, schemas)
      : []
  })
  return [...missing, ...inside]
}
