import type { Finding } from '../../../index.ts'
import { exampleServerUrl } from '../../../store/engines.ts'
import { defineCommand } from '../command.ts'
import { EXIT, type ExitCode } from '../../shared/failure.ts'
import type { Output } from '../terminal/output.ts'
import { wrap } from '../terminal/width.ts'

export const doctor = defineCommand({
  name: 'doctor',
  summary: 'examine the store and the queue: what is wrong, and what to do about it',
  operands: '',
  arity: [0, 0],
  options: {},
  examples: [
    ['punctual doctor', 'the default store and queue'],
    [`punctual doctor --store ${exampleServerUrl()} --json`, 'for a health check'],
  ],
  notes: [
    'The exit code is 1 if there is a problem; warnings do not count. A topic with a message that should have started\n10 seconds ago is a warning, a minute ago a problem.',
  ],
  makesStore: false,
  run: async ({ open, out, json }) => showFindings(await open().doctor(), out, json),
})

/** A problem makes the exit code 1. */
export function showFindings(findings: readonly Finding[], out: Output, json: boolean): ExitCode {
  for (const finding of findings) {
    if (json) out.json(finding)
    else for (const line of renderFinding(finding, out)) out.line(line)
  }
  return findings.some(({ level }) => level === 'problem') ? EXIT.failed : EXIT.fine
}

function renderFinding({ level, what, remedy }: Finding, { style, isTerminal, columns }: Output): string[] {
  const mark = { problem: style.red('✗'), warning: style.yellow('!'), fine: style.green('✓') }[level]
  const lines = (text: string): string[] => (isTerminal ? wrap(text, columns - 2) : [text])
  return [
    ...lines(what).map((line, i) => `${i === 0 ? mark : ' '} ${line}`),
    ...(remedy === undefined ? [] : lines(remedy).map((line) => `  ${style.dim(line)}`)),
  ]
}
