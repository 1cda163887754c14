import { expect, it } from 'vitest'
import { ERROR_CODES, InvariantError, UnavailableError, UsageError, type ErrorCode } from '../../src/index.ts'
import { ANSWERS, CallError, describeFailure, EXIT, FailedError } from '../../src/doors/shared/failure.ts'

const CODES = Object.keys(ERROR_CODES) as ErrorCode[]

it('every code of the library has an exit code and an HTTP status, and none is made up', () => {
  const doors = ['CALL_INVALID', 'FAILED', 'UNEXPECTED']
  expect(Object.keys(ANSWERS).toSorted()).toEqual([...CODES, ...doors].toSorted())
  for (const [exit, status] of Object.values(ANSWERS)) {
    expect([EXIT.failed, EXIT.usage]).toContain(exit)
    expect(status).toBeGreaterThanOrEqual(400)
    expect(status).toBeLessThan(600)
  }
})

it.each([
  [new UsageError('ID_EXISTS', 'taken'), { exit: 1, status: 409, code: 'ID_EXISTS' }],
  [new UnavailableError('STORE_UNAVAILABLE', 'away'), { exit: 1, status: 503, code: 'STORE_UNAVAILABLE' }],
  [new InvariantError('broken'), { exit: 1, status: 500, code: 'INVARIANT' }],
  [new CallError('wrong'), { exit: 2, status: 400, code: 'CALL_INVALID' }],
  [new FailedError('not done'), { exit: 1, status: 500, code: 'FAILED' }],
  [
    new FailedError('line 7', { cause: new UsageError('DURATION_INVALID', 'soon') }),
    { exit: 1, status: 400, code: 'DURATION_INVALID' },
  ],
  [new TypeError('oops'), { exit: 1, status: 500, code: 'UNEXPECTED' }],
  ['a text', { exit: 1, status: 500, code: 'UNEXPECTED' }],
])('%s', (error, told) => {
  expect(describeFailure(error)).toMatchObject(told)
})

it('the line is one line, short, without passwords and control characters', () => {
  const { line } = describeFailure(new Error(`a\n  b\u001B[31m redis://me:secret@host ${'x'.repeat(5_000)}`))
  expect(line).toMatch(/^a b \[31m redis:\/\/…@host x+…$/)
  expect(line.length).toBeLessThanOrEqual(1_001)
})
