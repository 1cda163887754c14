import type { Finding } from '../../../index.ts'
import { exampleServerUrl } from '../../../store/engines.ts'
import { defineCommand } from '../command.ts'
import { EXIT } from '../../shared/failure.ts'
import type { Style } from '../terminal/style.ts'

export const doctor = defineCommand({
  name: 'doctor',
  summary: 'examine the store: what is wrong, and what to do about it',
  operands: '',
  arity: [0, 0],
  options: {},
  examples: [
    ['punctual doctor', 'the default store'],
    [`punctual doctor --store ${exampleServerUrl()} --json`, 'for a health check'],
  ],
  notes: ['The exit code is 1 if there is a problem; warnings do not count.'],
  makesStore: false,
  run: async ({ open, out, json }) => {
    const findings = await open().doctor()
    for (const finding of findings) {
      if (json) out.json(finding)
      else for (const line of renderFinding(finding, out.style)) out.line(line)
    }
    return findings.some(({ level }) => level === 'problem') ? EXIT.failed : EXIT.fine
  },
})

function renderFinding({ level, what, remedy }: Finding, style: Style): string[] {
  const mark = { problem: style.red('✗'), warning: style.yellow('!'), fine: style.green('✓') }[level]
  return [`${mark} ${what}`, ...(remedy === undefined ? [] : [`  ${style.dim(remedy)}`])]
}
