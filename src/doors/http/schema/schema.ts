/**
 * A small vocabulary of shapes: each checks a value from outside, and prints itself as JSON Schema for the OpenAPI
 * document. What the library checks by itself (durations, names, rates) is here only described.
 *
 * An object refuses fields that it does not know: a misspelt option must not be ignored.
 */
import { describe } from '../../../core/errors.ts'
import { CallError } from '../../shared/failure.ts'
import { parseMomentText } from '../../shared/moment.ts'

export type JsonSchema = { readonly [keyword: string]: unknown }

export type Shape<T = unknown> = {
  readonly json: JsonSchema
  /** Answers the value as the handler gets it, or throws a CallError that names `at`. */
  readonly check: (value: unknown, at: string) => T
  /** From a query string, where everything is text. Absent: the text itself. */
  readonly fromText?: (text: string) => unknown
  /** In a query string it may be given several times. */
  readonly isList?: true
  readonly isOptional?: true
}

export type OptionalShape<T> = Shape<T> & { readonly isOptional: true }
export type ShapeFields = Readonly<Record<string, Shape>>
export type Checked<S> = S extends Shape<infer T> ? T : never

type OptionalName<F> = { [K in keyof F]: F[K] extends { readonly isOptional: true } ? K : never }[keyof F]
export type ObjectOf<F> = {
  readonly [K in Exclude<keyof F, OptionalName<F>>]: Checked<F[K]>
} & { readonly [K in OptionalName<F>]?: Checked<F[K]> }

function wrong(at: string, value: unknown, what: string): CallError {
  return new CallError(`${at} is ${describe(value)}; give ${what}.`)
}

export function text(options: { max?: number; pattern?: string; about?: string } = {}): Shape<string> {
  const { max, pattern, about } = options
  return {
    json: {
      type: 'string',
      ...(max === undefined ? {} : { maxLength: max }),
      ...(pattern === undefined ? {} : { pattern }),
      ...(about === undefined ? {} : { description: about }),
    },
    check: (value, at) => {
      if (typeof value !== 'string' || value.length > (max ?? Infinity)) throw wrong(at, value, 'a text')
      return value
    },
  }
}

export function oneOf<const T extends string>(...choices: readonly T[]): Shape<T> {
  return {
    json: { type: 'string', enum: choices },
    check: (value, at) => {
      const found = choices.find((choice) => choice === value)
      if (found === undefined) throw wrong(at, value, `one of: ${choices.join(', ')}`)
      return found
    },
  }
}

export function number(): Shape<number> {
  return {
    json: { type: 'number' },
    fromText: Number,
    check: (value, at) => {
      if (typeof value !== 'number' || !Number.isFinite(value)) throw wrong(at, value, 'a number')
      return value
    },
  }
}

export function whole(range: { min?: number; max?: number } = {}): Shape<number> {
  const { min, max } = range
  return {
    json: {
      type: 'integer',
      ...(min === undefined ? {} : { minimum: min }),
      ...(max === undefined ? {} : { maximum: max }),
    },
    fromText: Number,
    check: (value, at) => {
      const isIn = Number.isSafeInteger(value) && Number(value) >= (min ?? -Infinity)
      if (!isIn || Number(value) > (max ?? Infinity))
        throw wrong(at, value, `a whole number${rangeText(min, max)}`)
      return Number(value)
    },
  }
}

function rangeText(min: number | undefined, max: number | undefined): string {
  if (min !== undefined && max !== undefined) return ` from ${min} to ${max}`
  return min === undefined ? '' : `, at least ${min}`
}

export function flag(): Shape<boolean> {
  return {
    json: { type: 'boolean' },
    fromText: (given) => (given === 'true' ? true : given === 'false' ? false : given),
    check: (value, at) => {
      if (typeof value !== 'boolean') throw wrong(at, value, 'true or false')
      return value
    },
  }
}

/** Only this value: marks a field that is there or not. */
export function literal<const T extends string | boolean>(only: T): Shape<T> {
  return {
    json: { const: only },
    fromText: (given) => (given === String(only) ? only : given),
    check: (value, at) => {
      if (value !== only) throw wrong(at, value, `${only}, or leave it out`)
      return only
    },
  }
}

const DIGITS = /^\d{1,16}$/
const WITH_OFFSET = /(?:Z|[+-]\d\d:?\d\d)$/
const DURATION = '^\\d+(\\.\\d+)?(ms|s|m|h|d)$'

/** Epoch milliseconds, or RFC 3339 with its offset; answers epoch milliseconds. */
export function moment(): Shape<number> {
  return {
    json: {
      description: 'epoch milliseconds, or RFC 3339 with an offset',
      oneOf: [{ type: 'number' }, { type: 'string', format: 'date-time' }],
    },
    check: checkMoment,
  }
}

function checkMoment(value: unknown, at: string): number {
  if (typeof value === 'number') return value
  if (typeof value !== 'string') throw wrong(at, value, 'epoch milliseconds or 2030-01-01T09:00:00Z')
  if (DIGITS.test(value)) return Number(value)
  // Without an offset it would mean the zone of this server, which the caller does not know.
  if (!WITH_OFFSET.test(value)) throw wrong(at, value, 'a moment with an offset: 2030-01-01T09:00:00Z')
  return parseMomentText(value, at)
}

/** Milliseconds, or a text like `30m`: the library reads it. */
export function duration(): Shape<number | `${number}s`> {
  return {
    json: {
      description: 'milliseconds, or a text like 250ms, 30s, 5m, 48h, 7d',
      oneOf: [{ type: 'number' }, { type: 'string', pattern: DURATION }],
    },
    fromText: (given) => (DIGITS.test(given) ? Number(given) : given),
    check: (value, at) => {
      if (typeof value === 'number' || typeof value === 'string') return value as number
      throw wrong(at, value, 'milliseconds or a text like "30m"')
    },
  }
}

/** A moment, or a time from now. */
export function ahead(): Shape<number | `${number}s`> {
  return {
    json: {
      description: 'a moment (epoch milliseconds, RFC 3339), or a time from now like 24h',
      oneOf: [{ type: 'number' }, { type: 'string' }],
    },
    check: (value, at) => {
      const isDuration = typeof value === 'string' && new RegExp(DURATION).test(value)
      return isDuration ? (value as `${number}s`) : checkMoment(value, at)
    },
  }
}

/** Any JSON. */
export function anything(about?: string): Shape {
  return { json: about === undefined ? {} : { description: about }, check: (value) => value }
}

export function list<T>(of: Shape<T>, range: { max?: number } = {}): Shape<readonly T[]> {
  const { max = Infinity } = range
  const { fromText } = of
  return {
    json: { type: 'array', items: of.json, ...(range.max === undefined ? {} : { maxItems: range.max }) },
    isList: true,
    ...(fromText === undefined ? {} : { fromText }),
    check: (value, at) => {
      if (!Array.isArray(value)) throw wrong(at, value, 'an array')
      if (value.length > max) throw new CallError(`${at} has ${value.length} entries; allowed: ${max}.`)
      return value.map((item, i) => of.check(item, `${at}[${i}]`))
    },
  }
}

/** By name. */
export function mapOf<T>(of: Shape<T>): Shape<Readonly<Record<string, T>>> {
  return {
    json: { type: 'object', additionalProperties: of.json },
    check: (value, at) =>
      Object.fromEntries(
        Object.entries(checkObject(value, at)).map(([key, item]) => [key, of.check(item, `${at}.${key}`)]),
      ),
  }
}

export function optional<T>(shape: Shape<T>): OptionalShape<T> {
  return { ...shape, isOptional: true }
}

export function object<F extends ShapeFields>(fields: F): Shape<ObjectOf<F>> {
  const names = Object.keys(fields)
  const required = names.filter((name) => fields[name]?.isOptional !== true)
  return {
    json: {
      type: 'object',
      properties: Object.fromEntries(names.map((name) => [name, fields[name]?.json])),
      ...(required.length === 0 ? {} : { required }),
      additionalProperties: false,
    },
    check: (value, at) => checkFields(fields, required, checkObject(value, at), at) as ObjectOf<F>,
  }
}

function checkFields(
  fields: ShapeFields,
  required: readonly string[],
  given: Readonly<Record<string, unknown>>,
  at: string,
): Record<string, unknown> {
  const checked: Record<string, unknown> = {}
  for (const name of Object.keys(given)) {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined
    if (field === undefined) throw unknownField(at, name, fields)
    const value = given[name]
    if (value !== undefined) checked[name] = field.check(value, at === '' ? name : `${at}.${name}`)
  }
  for (const name of required)
    if (checked[name] === undefined && !Object.hasOwn(given, name))
      throw new CallError(`${at === '' ? name : `${at}.${name}`} is missing.`)
  return checked
}

function unknownField(at: string, name: string, fields: ShapeFields): CallError {
  const where = at === '' ? 'the call' : at
  const known = Object.keys(fields)
  return new CallError(
    `${where} has no field ${describe(name)}; there ${known.length === 0 ? 'are none' : `are: ${known.join(', ')}`}.`,
  )
}

function checkObject(value: unknown, at: string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Readonly<Record<string, unknown>>
  throw wrong(at === '' ? 'the body' : at, value, 'an object')
}

/** The first that takes the value; none: what the last one says. */
export function either<const S extends readonly Shape[]>(...shapes: S): Shape<Checked<S[number]>> {
  return {
    json: { anyOf: shapes.map(({ json }) => json) },
    check: (value, at) => {
      let complaint: unknown
      for (const shape of shapes) {
        try {
          return shape.check(value, at) as Checked<S[number]>
        } catch (error) {
          complaint = error
        }
      }
      throw complaint
    },
  }
}

/** The parameters of a query string. */
export function checkQuery(fields: ShapeFields, given: URLSearchParams): Record<string, unknown> {
  const values: Record<string, unknown> = {}
  for (const name of new Set(given.keys())) {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined
    if (field === undefined) throw unknownField('the query', name, fields)
    const { fromText = (word: string): unknown => word } = field
    const texts = given.getAll(name)
    if (field.isList !== true && texts.length > 1)
      throw new CallError(`${name} is given twice; give it once.`)
    values[name] = field.isList === true ? texts.map(fromText) : fromText(texts[0] ?? '')
  }
  const required = Object.keys(fields).filter((name) => fields[name]?.isOptional !== true)
  return checkFields(fields, required, values, '')
}
