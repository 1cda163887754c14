/** From the logs of a whole run to its findings and its figures. */
import { audit, type Finding, type Rules } from './audit.ts'
import { judgeGrowth, measureGrowth } from './flatness.ts'
import { judgeCalm, measureCalm } from './lateness.ts'
import type { Line } from './lines.ts'
import type { Summary } from './report.ts'
import { gather, type Stories } from './stories.ts'

export type Conduct = Pick<Summary, 'engine' | 'minutes' | 'seed' | 'faults'> & {
  /** What the run itself found on its way. */
  readonly findings: readonly Finding[]
  /** Who was there at the end. */
  readonly last: readonly string[]
  readonly rules: Rules
}

export type Verdict = { readonly summary: Summary; readonly findings: readonly Finding[] }

export function judge(lines: readonly Line[], conduct: Conduct): Verdict {
  const { engine, minutes, seed, faults, last, rules } = conduct
  const stories = gather(lines)
  const { findings: broken, ...figures } = audit(stories, rules)
  const calm = measureCalm(lines)
  const growth = measureGrowth(stories)
  const findings = [
    ...conduct.findings,
    ...broken,
    ...judgeCalm(calm),
    ...judgeGrowth(growth),
    ...judgeLastStops(last, stories),
  ]
  const summary = {
    engine,
    minutes,
    seed,
    findings: findings.length,
    ...figures,
    faults,
    calm,
    growth,
    logLines: lines.length,
  }
  return { summary, findings }
}

/** In the calm there is no excuse: everybody stops at once, and leaves nothing behind. */
function judgeLastStops(last: readonly string[], { processes }: Stories): Finding[] {
  return last.flatMap((who) => {
    const stopped = processes.get(who)?.stopped
    if (stopped !== undefined && stopped.abandoned === 0 && stopped.errors.length === 0) return []
    const said = stopped === undefined ? 'it left no report' : JSON.stringify(stopped)
    return [{ promise: 'P11', what: `${who} did not stop cleanly: ${said}`, about: who }]
  })
}
