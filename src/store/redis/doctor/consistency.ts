/** Whether the keys of a queue agree: each message has one payload and one place. They do unless somebody else wrote. */
import { fine, problem } from '../../contract/findings.ts'
import type { Finding } from '../../contract/store.ts'

const REMEDY =
  'look who deletes, evicts or writes keys of this queue (maxmemory-policy, FLUSHDB, scripts); "punctual list" shows what is left'

/** What the script `checkup` counted, in its order. */
export function examineAgreement(reply: unknown): Finding[] {
  const [payloads = 0, waiting = 0, running = 0, leases = 0, dead = 0, topics = 0, numbers = 0, ...lines] =
    reply as readonly number[]
  const [aside = 0, inLine = 0] = lines
  const places = waiting + running + dead
  const findings: Finding[] = []
  if (payloads !== places) {
    findings.push(disagreement(`${payloads} payloads for ${places} messages that wait, run or are dead`))
  }
  if (running !== leases) findings.push(disagreement(`${running} messages run under ${leases} leases`))
  if (topics !== numbers) findings.push(disagreement(`${topics} topics have ${numbers} numbers`))
  if (aside !== inLine)
    findings.push(disagreement(`${aside} messages were set aside, and ${inLine} stand in line`))
  if (findings.length > 0) return findings
  return [fine(`the keys of this queue agree on ${payloads} messages`)]
}

function disagreement(what: string): Finding {
  return problem(`keys of this queue were changed by somebody else: ${what}`, REMEDY)
}
