import { fine, warning } from '../contract/findings.ts'
import type { Finding } from '../contract/store.ts'

const SKEW_MS = 1_000

/** What a doctor says about the server's clock. */
export function clockFinding(skewMs: number): Finding {
  return Math.abs(skewMs) > SKEW_MS
    ? warning(
        `the server’s clock is ${Math.round(Math.abs(skewMs))} ms ${skewMs > 0 ? 'ahead of' : 'behind'} this machine’s`,
        'messages follow the server’s clock; set both by NTP',
      )
    : fine('the clocks of server and client agree')
}
