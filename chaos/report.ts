/** What a run has to say in the end: to people, and to machines. */
import type { Finding } from './audit.ts'
import type { Growth } from './flatness.ts'
import type { Lateness } from './lateness.ts'
import type { Line } from './lines.ts'

export type Summary = {
  readonly engine: string
  readonly minutes: number
  readonly seed: number
  readonly findings: number
  readonly counts: Readonly<Record<string, number>>
  /** Of what was promised. */
  readonly fates: Readonly<Record<string, number>>
  readonly repeats: Readonly<Record<string, number>>
  readonly faults: Readonly<Record<string, number>>
  readonly calm: Lateness
  readonly growth: readonly Growth[]
  readonly logLines: number
}

const FINDINGS_SHOWN = 20
const LINES_SHOWN = 60

export function renderSummary(summary: Summary): string {
  const { engine, minutes, seed, counts, fates, repeats, faults, calm, growth, logLines } = summary
  return [
    `${engine}, ${minutes} minutes, seed ${seed}: ${logLines} lines of log audited`,
    `  messages   ${render(counts)}`,
    `  promised   ${render(fates)}`,
    `  faults     ${render(faults)}`,
    `  repeats    ${render(repeats)}`,
    `  calm       ${calm.messages} messages, lateness p50 ${calm.p50Ms} ms, p99 ${calm.p99Ms} ms, max ${calm.maxMs} ms`,
    ...(growth.length === 0 ? ['  growth     too short a run to tell'] : growth.map(renderGrowth)),
    summary.findings === 0 ? '  no promise broken' : `  ${summary.findings} FINDINGS`,
  ].join('\n')
}

function render(counts: Readonly<Record<string, number>>): string {
  const parts = Object.entries(counts).map(([what, count]) => `${what} ${count}`)
  return parts.length === 0 ? 'none' : parts.join(', ')
}

function renderGrowth({ who, what, first, last, isFlat }: Growth): string {
  return `  growth     ${who} ${what}: ${first} -> ${last}${isFlat ? '' : '  GREW'}`
}

/** What broke, each with the lines that concern it, as the logs have them. */
export function renderFindings(findings: readonly Finding[], lines: readonly Line[]): string {
  const shown = findings.slice(0, FINDINGS_SHOWN).map(({ promise, what, about }) => {
    const concerned = about === undefined ? [] : lines.filter((line) => concerns(line, about))
    return [
      `${promise}: ${what}`,
      ...concerned.slice(-LINES_SHOWN).map((line) => `    ${JSON.stringify(line)}`),
    ].join('\n')
  })
  if (findings.length > shown.length) shown.push(`... and ${findings.length - shown.length} more`)
  return shown.join('\n')
}

function concerns(line: Line, about: string): boolean {
  if ('id' in line) return line.id === about
  if (line.what === 'sample') return false
  if (line.what === 'exited') return line.process === about
  return line.what === 'fault' ? line.target === about : line.who === about
}
