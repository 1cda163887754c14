/** What a doctor finds on the server of any dialect. */
import { fine, warning } from '../../contract/findings.ts'
import type { Finding } from '../../contract/store.ts'
import { DEAF_LOOK_MS, type Hearing } from '../wakeups/hearing.ts'

const SKEW_MS = 1_000
export const HELD_S_MAX = 300
export const DELTAS_MAX = 100_000

export function clockFinding(skewMs: number): Finding {
  return Math.abs(skewMs) > SKEW_MS
    ? warning(
        `the server’s clock is ${Math.round(Math.abs(skewMs))} ms ${skewMs > 0 ? 'ahead of' : 'behind'} this machine’s`,
        'messages follow the server’s clock; set both by NTP',
      )
    : fine('the clocks of server and client agree')
}

/** `each`: how many a worker has where there are enough. */
export function connectionFindings(taken: number, most: number, each: number): Finding[] {
  const left = Math.max(0, most - taken)
  const sum = `${taken} of ${most} connections are taken`
  if (left >= Math.max(each, most / 10))
    return [fine(`${sum}: enough for ${Math.floor(left / each)} more workers`)]
  return [
    warning(
      `${sum}; a worker has ${each} where it can, and works with one, more slowly`,
      `raise max_connections to ${each} for each worker, one for each producer, and what else connects; or let fewer processes connect`,
    ),
  ]
}

/** `has`: "the schema has". */
export function versionFindings(has: string, version: number, known: number): Finding[] {
  if (version === known) return []
  const remedy = version > known ? 'update punctual' : 'run punctual migrate'
  return [warning(`${has} version ${version}, this version of punctual knows ${known}`, remedy)]
}

/** `why` and `remedy`: of a server whose rings do not arrive. */
export function hearingFindings(hearing: Hearing, why: string, remedy: string): Finding[] {
  if (hearing === 'hears') return [fine('wake-ups arrive')]
  const late = `messages due at once are up to ${DEAF_LOOK_MS} ms late`
  return hearing === 'deaf' ? [warning(`${why}: ${late}`, remedy)] : []
}
