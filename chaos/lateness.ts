/** Once the faults are over, messages must be on time again. */
import type { Finding } from './audit.ts'
import type { Line } from './lines.ts'

/** Generous: the machine may be small and shared. A lost wake-up would cost the fallback, a second. */
const P50_MS_MAX = 250
const P99_MS_MAX = 5_000

export type Lateness = {
  readonly messages: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
}

export function measureCalm(lines: readonly Line[]): Lateness {
  const calm = new Set<string>()
  for (const line of lines) if (line.what === 'produce' && line.isCalm) calm.add(`${line.id} ${line.call}`)
  const lateMs: number[] = []
  for (const line of lines)
    if (line.what === 'start' && line.attempt === 1 && calm.has(`${line.id} ${line.g}`))
      lateMs.push(line.at - line.dueAt)
  lateMs.sort((a, b) => a - b)
  const at = (share: number): number => lateMs[Math.ceil(lateMs.length * share) - 1] ?? 0
  return { messages: lateMs.length, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) }
}

export function judgeCalm({ messages, p50Ms, p99Ms }: Lateness): Finding[] {
  const findings: Finding[] = []
  if (messages === 0) findings.push({ promise: 'calm', what: 'no message was started after the storm' })
  if (p50Ms > P50_MS_MAX)
    findings.push({ promise: 'calm', what: `p50 of the lateness is ${p50Ms} ms; at most ${P50_MS_MAX}` })
  if (p99Ms > P99_MS_MAX)
    findings.push({ promise: 'calm', what: `p99 of the lateness is ${p99Ms} ms; at most ${P99_MS_MAX}` })
  return findings
}
