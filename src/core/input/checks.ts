/** Single values from callers, checked: the value, or a UsageError that names it and says what is allowed. */
import { UsageError, describe } from '../errors.ts'
import { nearest } from './nearest.ts'

/** An object with none but the allowed keys. `name` is what the user calls it. */
export function checkRecord<K extends string>(
  value: unknown,
  name: string,
  allowed: readonly K[],
): Partial<Record<K, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new UsageError(
      'OPTION_INVALID',
      `${name} is ${describe(value)}; give an object such as { ${allowed[0]}: … }.`,
      { value },
    )
  }
  for (const key of Object.keys(value)) {
    if (!(allowed as readonly string[]).includes(key)) {
      throw new UsageError(
        'OPTION_UNKNOWN',
        `${name} has no option ${describe(key)}${suggestion(key, allowed)}; there are: ${allowed.join(', ')}.`,
        { value: key },
      )
    }
  }
  return value
}

/** ` (did you mean "delay"?)`, where one of the names is near. */
export function suggestion(word: string, names: readonly string[]): string {
  const guess = nearest(word.slice(0, 40), names)
  return guess === undefined ? '' : ` (did you mean "${guess}"?)`
}

export function parseInteger(value: unknown, name: string, range: { min: number; max: number }): number {
  if (Number.isSafeInteger(value)) return parseNumber(value, name, range)
  throw new UsageError(
    'OPTION_INVALID',
    `${name} is ${describe(value)}; give a whole number from ${range.min} to ${range.max}.`,
    { value },
  )
}

export function parseNumber(
  value: unknown,
  name: string,
  { min, max }: { min: number; max: number },
): number {
  if (typeof value === 'number' && value >= min && value <= max) return value
  throw new UsageError(
    'OPTION_INVALID',
    `${name} is ${describe(value)}; give a number from ${min} to ${max}.`,
    {
      value,
    },
  )
}

export function parseOneOf<T extends string>(value: unknown, name: string, choices: readonly T[]): T {
  const found = choices.find((choice) => choice === value)
  if (found !== undefined) return found
  throw new UsageError(
    'OPTION_INVALID',
    `${name} is ${describe(value)}; give one of: ${choices.join(', ')}.`,
    {
      value,
    },
  )
}
