/** `--limit 20`: a whole number in its range, or a line that says which. */
import { describe } from '../../core/errors.ts'
import { CallError } from '../shared/failure.ts'

export function parseWholeNumber(
  text: string,
  name: string,
  { min, max }: { readonly min: number; readonly max: number },
): number {
  const number = Number(text)
  if (/^\d+$/.test(text) && number >= min && number <= max) return number
  throw new CallError(`${name} is ${describe(text)}; give a whole number from ${min} to ${max}.`)
}
