/**
 * What went wrong, as RFC 9457 says it: `application/problem+json`. Errors of the library keep their codes and get the
 * status of `doors/shared/failure`; what only this door can refuse has a code here.
 *
 * A client learns whether the call had an effect: `none` for every refusal, `unknown` where the store did not answer.
 */
import { isUnavailable } from '../../../core/errors.ts'
import { ERROR_CODES, type ErrorCode } from '../../../index.ts'
import { ANSWERS, describeFailure, type DoorCode } from '../../shared/failure.ts'
import type { HttpReply } from '../table/route.ts'
import { object, oneOf, optional, text, whole, type Checked } from '../schema/schema.ts'
import { named } from '../schema/named.ts'

/** Codes of this door: their status, and what they mean. */
export const HTTP_CODES = {
  BODY_INVALID: [400, 'a body that is not JSON, or nested too deeply'],
  UNAUTHORIZED: [401, 'no token, or one that is unknown, has expired or was taken back'],
  FORBIDDEN: [403, 'a token without the scope, queue or topic that this call needs'],
  ORIGIN_REFUSED: [403, 'a call from a page of another site'],
  ROUTE_UNKNOWN: [404, 'a path that does not exist'],
  QUEUE_UNKNOWN: [404, 'a queue that this server does not serve'],
  MESSAGE_MISSING: [404, 'no message with this id, or none in the state that the call needs'],
  SCHEDULE_MISSING: [404, 'no schedule with this name'],
  JOB_MISSING: [404, 'no bulk job with this id'],
  METHOD_UNKNOWN: [405, 'a path that has no such method'],
  MESSAGE_RUNNING: [409, 'the message runs right now'],
  CONFIRM_INVALID: [409, 'a confirmation that has expired, was used, or belongs to another call or caller'],
  JOBS_TOO_MANY: [409, 'too many bulk jobs at once'],
  PRECONDITION_FAILED: [412, 'If-None-Match is *, and the message exists'],
  BODY_TOO_LARGE: [413, 'a body above the limit'],
  MEDIA_TYPE: [415, 'a body that is not application/json'],
  HOST_REFUSED: [421, 'a Host header that this server does not answer to'],
  RATE_LIMITED: [429, 'too many calls with this token, or wrong tokens from this address'],
  PARKED_TOO_MANY: [429, 'too many waiting calls at once'],
  IF_MATCH: [501, 'If-Match, which cannot be kept without a race'],
  STOPPING: [503, 'the server stops'],
} as const satisfies Readonly<Record<string, readonly [status: number, what: string]>>

export type HttpCode = keyof typeof HTTP_CODES
export type ProblemCode = HttpCode | ErrorCode | DoorCode

/** A call that this door refuses by itself. */
export class HttpRefusal extends Error {
  override readonly name = 'HttpRefusal'
  readonly code: HttpCode
  readonly headers: Readonly<Record<string, string>>

  constructor(code: HttpCode, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message)
    this.code = code
    this.headers = headers
  }
}

/** Every code that a client may meet. A newer server may know more. */
const ALL_CODES = [...Object.keys(HTTP_CODES), ...Object.keys(ANSWERS)] as ProblemCode[]

export const PROBLEM_FIELDS = {
  type: text(),
  title: text(),
  status: whole({ min: 400, max: 599 }),
  detail: text(),
  code: oneOf(...ALL_CODES),
  effect: optional(oneOf('none', 'unknown')),
}
export const PROBLEM = named('Problem', object(PROBLEM_FIELDS))
export type Problem = Checked<typeof PROBLEM>

const RETRY_AFTER_SECONDS = '1'
const TYPE_BASE = 'https://punctual.invalid/problems/'

/** Every code that a client may meet, with its status. */
export function statusOf(code: ProblemCode): number {
  return code in HTTP_CODES ? HTTP_CODES[code as HttpCode][0] : ANSWERS[code as ErrorCode | DoorCode][1]
}

export function problemOf(error: unknown): Problem {
  if (error instanceof HttpRefusal) return makeProblem(error.code, error.message, 'none')
  const { code, status, line } = describeFailure(error)
  const isOurs = code === 'UNEXPECTED' || code === 'INVARIANT'
  // What we did not expect may hold anything: a path, a query, a payload. The log has it.
  const detail = isOurs ? 'something went wrong inside the server; its log says more' : line
  return makeProblem(code, detail, isUnavailable(error) || status >= 500 ? 'unknown' : 'none')
}

function makeProblem(code: ProblemCode, detail: string, effect: 'none' | 'unknown'): Problem {
  return { type: `${TYPE_BASE}${code}`, title: titleOf(code), status: statusOf(code), detail, code, effect }
}

const DOOR_TITLES: Readonly<Record<DoorCode, string>> = {
  CALL_INVALID: 'the call has a wrong or missing part',
  FAILED: 'the call could not be done',
  UNEXPECTED: 'an error that nothing expects',
}

export function titleOf(code: ProblemCode): string {
  if (code in HTTP_CODES) return HTTP_CODES[code as HttpCode][1]
  return code in DOOR_TITLES ? DOOR_TITLES[code as DoorCode] : ERROR_CODES[code as ErrorCode]
}

export function refuse(error: unknown): HttpReply {
  const problem = problemOf(error)
  const own = error instanceof HttpRefusal ? error.headers : {}
  const isLater = problem.status === 503 || problem.status === 429
  return {
    status: problem.status,
    text: JSON.stringify(problem),
    headers: {
      'content-type': 'application/problem+json',
      ...(isLater ? { 'retry-after': RETRY_AFTER_SECONDS } : {}),
      ...own,
    },
  }
}
