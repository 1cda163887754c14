/**
 * Topics may carry a schema of any library that speaks the Standard Schema interface (zod, valibot, arktype...).
 *
 * What is checked is the payload as the handler will read it, after its way through JSON: a schema that asks for a
 * Date refuses at `produce`, where the mistake is, and not years later. The handler gets the schema's output.
 */
import { UsageError } from '../errors.ts'

export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
  }
}

export type SchemaResult<Output> =
  { readonly value: Output; readonly issues?: undefined } | { readonly issues: readonly SchemaIssue[] }

export type SchemaIssue = {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

export type TopicSchemas = Readonly<Record<string, StandardSchema>>

export type SchemaInput<S> = S extends StandardSchema ? NonNullable<S['~standard']['types']>['input'] : never
export type SchemaOutput<S> = S extends StandardSchema
  ? NonNullable<S['~standard']['types']>['output']
  : never

const ISSUES_SHOWN = 3

/** Resolves to the schema's output, or rejects with PAYLOAD_MISMATCH. */
export async function validate(schema: StandardSchema, topic: string, value: unknown): Promise<unknown> {
  const result = await schema['~standard'].validate(value)
  if (result.issues === undefined) return result.value
  const shown = result.issues.slice(0, ISSUES_SHOWN).map(issueText).join('; ')
  const more = result.issues.length > ISSUES_SHOWN ? ` (and ${result.issues.length - ISSUES_SHOWN} more)` : ''
  throw new UsageError(
    'PAYLOAD_MISMATCH',
    `payload does not fit the schema of "${topic}": ${shown}${more}.`,
    {
      value,
      cause: result.issues,
    },
  )
}

function issueText({ message, path }: SchemaIssue): string {
  const where = (path ?? []).map((step) => String(typeof step === 'object' ? step.key : step)).join('.')
  return where === '' ? message : `${where}: ${message}`
}

export function isStandardSchema(value: unknown): value is StandardSchema {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false
  if (!('~standard' in value)) return false
  const standard = value['~standard']
  return (
    typeof standard === 'object' &&
    standard !== null &&
    'validate' in standard &&
    typeof standard.validate === 'function'
  )
}
