/** `--state dead`, checked before anything is opened. */
import type { MessageState } from '../../index.ts'
import { describe } from '../../core/errors.ts'
import { MESSAGE_STATES } from '../../core/message.ts'
import { CallError } from '../shared/failure.ts'
import type { Style } from './terminal/style.ts'

export function parseState(text: string, allowed: readonly MessageState[] = MESSAGE_STATES): MessageState {
  const found = allowed.find((state) => state === text)
  if (found !== undefined) return found
  throw new CallError(`--state is ${describe(text)}; give one of: ${allowed.join(', ')}.`)
}

export function paintState(state: MessageState, style: Style): string {
  const paint = { delayed: style.blue, ready: style.yellow, running: style.green, dead: style.red }[state]
  return paint(state)
}
