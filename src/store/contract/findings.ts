/** The words of every doctor: what is fine, what needs a look, what is a problem, and which comes first. */
import type { Finding } from './operators.ts'

export function fine(what: string): Finding {
  return { level: 'fine', what }
}

/** Something may go wrong, or is less than it could be. */
export function warning(what: string, remedy: string): Finding {
  return { level: 'warning', what, remedy }
}

/** Something is wrong: messages are or will be lost, or do not run. */
export function problem(what: string, remedy: string): Finding {
  return { level: 'problem', what, remedy }
}

const RANK = { problem: 0, warning: 1, fine: 2 } as const

export function worstFirst(findings: readonly Finding[]): Finding[] {
  return findings.toSorted((a, b) => RANK[a.level] - RANK[b.level])
}
