/** Errors of ours on their way between threads. */
import {
  InvariantError,
  PunctualError,
  UnavailableError,
  UsageError,
  assertNever,
  errorText,
  type ErrorCode,
  type ErrorDetails,
} from '../../core/errors.ts'
import type { ErrorParts } from './protocol.ts'

export function takeApart(error: unknown): ErrorParts {
  if (!(error instanceof PunctualError)) {
    const { message, stack = message } = error instanceof Error ? error : new Error(String(error))
    return { kind: 'invariant', code: 'INVARIANT', message: `the engine failed: ${message}`, cause: stack }
  }
  const { code, message, value, cause } = error
  return {
    kind:
      error instanceof UsageError ? 'usage' : error instanceof UnavailableError ? 'unavailable' : 'invariant',
    code,
    message,
    ...(typeof value === 'string' || typeof value === 'number' ? { value } : {}),
    ...(cause === undefined ? {} : { cause: errorText(cause) }),
  }
}

export function putTogether({ kind, code, message, value, cause }: ErrorParts): PunctualError {
  const details: ErrorDetails = { value, ...(cause === undefined ? {} : { cause: new Error(cause) }) }
  switch (kind) {
    case 'usage':
      return new UsageError(code as ErrorCode, message, details)
    case 'unavailable':
      return new UnavailableError(code as ErrorCode, message, details)
    case 'invariant':
      return new InvariantError(message, details)
    default:
      return assertNever(kind)
  }
}
