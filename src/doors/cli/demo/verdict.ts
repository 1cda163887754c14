/** What the demo has shown, in the end. */
import { formatCount, formatSpan, plural } from '../terminal/format.ts'
import type { Style } from '../terminal/style.ts'
import type { Percentiles, Tally } from './tally.ts'

export type Verdict = {
  readonly produced: number
  readonly arrived: number
  readonly early: number
  /** Still in the store: the visitor stopped the demo. */
  readonly waiting: number
  /** Neither arrived nor in the store. Another demo on the same queue may have had them. */
  readonly missing: number
  /** More than once; at least once is what is promised. */
  readonly repeated: number
  /** The delays of the order test, in seconds, as they arrived. */
  readonly order: readonly number[]
  readonly latenessMs?: Percentiles
}

/** `waiting`: how many of the demo's messages the store still has. */
export function judge(tally: Tally, waiting: number): Verdict {
  const latenessMs = tally.percentiles()
  const { total: produced, arrived, early, repeated } = tally
  return {
    produced,
    arrived,
    early,
    waiting,
    missing: Math.max(0, produced - arrived - waiting),
    repeated,
    order: tally.orderSeen,
    ...(latenessMs === undefined ? {} : { latenessMs }),
  }
}

/** `next`: what to try now. */
export function renderVerdict(verdict: Verdict, store: string, style: Style, next: string): string[] {
  const { produced, arrived, early, waiting, missing, repeated, latenessMs } = verdict
  if (waiting > 0) {
    return [
      `Stopped with ${style.bold(plural(waiting, 'message'))} waiting, safe in ${store}.`,
      'Run it again: what is pending arrives, and what came due meanwhile arrives at once.',
    ]
  }
  const mark = missing === 0 && early === 0 ? style.green('✓') : style.red('✗')
  const late =
    latenessMs === undefined
      ? ''
      : ` Late by ${formatSpan(latenessMs.p50)} (p50), ${formatSpan(latenessMs.p99)} (p99), ${formatSpan(latenessMs.max)} (max).`
  const counts = `${formatCount(arrived)} of ${formatCount(produced)} arrived, ${formatCount(early)} early, ${formatCount(missing)} lost.`
  const again = repeated === 0 ? '' : ` ${plural(repeated, 'message')} came twice.`
  return [`${mark} ${style.bold(counts)}${again}${late}`, style.dim(`Next: ${next}`)]
}
