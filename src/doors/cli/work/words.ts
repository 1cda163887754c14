/**
 * A command as one text, split into words as a shell would, without being one: quotes and backslashes group, and
 * nothing else means anything. So no part of a message can ever become a command.
 */
import { describe } from '../../../core/errors.ts'
import { CallError } from '../../shared/failure.ts'

const WORD = /\s*((?:[^\s"'\\]|\\[\s\S]|"(?:[^"\\]|\\[\s\S])*"|'[^']*')+)/y
const PART = /\\([\s\S])|"((?:[^"\\]|\\[\s\S])*)"|'([^']*)'|([^\s"'\\]+)/g

export function splitWords(text: string): string[] {
  const words: string[] = []
  WORD.lastIndex = 0
  let end = 0
  for (let match = WORD.exec(text); match !== null; match = WORD.exec(text)) {
    words.push(unquote(match[1] ?? ''))
    end = WORD.lastIndex
  }
  if (text.slice(end).trim() !== '')
    throw new CallError(`the command ${describe(text)} has a quote that does not end.`)
  return words
}

function unquote(word: string): string {
  return word.replace(PART, (_part, escaped?: string, double?: string, single?: string, plain?: string) => {
    if (double !== undefined) return double.replace(/\\(["\\$`])/g, '$1')
    return escaped ?? single ?? plain ?? ''
  })
}
