/** Whether the keys of a queue agree: each message has one payload and one place. They do unless somebody else wrote. */
import { fine, problem } from '../../contract/findings.ts'
import type { Finding } from '../../contract/store.ts'

const REMEDY =
  'look who deletes, evicts or writes keys of this queue (maxmemory-policy, FLUSHDB, scripts); "punctual list" shows what is left'

/** What the script `checkup` counted, in its order. */
export function examineAgreement(reply: readonly unknown[]): Finding[] {
  const [payloads = 0, waiting = 0, running = 0, dead = 0, ...rest] = reply as readonly number[]
  const [runningByTopic = 0, deadByTopic = 0, heads = 0, lines = 0, empty = 0, isAll = 1, ...last] = rest
  const [successors = 0, successorsByTopic = 0, listed = 0, inLines = 0, turnless = 0] = last
  const places = waiting + running + dead
  const findings: Finding[] = []
  if (isAll === 1 && payloads !== places)
    findings.push(disagreement(`${payloads} payloads for ${places} messages that wait, run or are dead`))
  if (isAll === 1 && running !== runningByTopic)
    findings.push(disagreement(`${running} messages run, and ${runningByTopic} are counted by topic`))
  if (dead !== deadByTopic)
    findings.push(disagreement(`${dead} messages are dead, and ${deadByTopic} are counted by topic`))
  if (successors !== successorsByTopic)
    findings.push(
      disagreement(
        `${successors} messages wait for one that runs, and ${successorsByTopic} are counted by topic`,
      ),
    )
  if (heads !== lines || empty > 0)
    findings.push(disagreement(`${lines} lines have ${heads} heads, and ${empty} of them are empty`))
  if (listed !== inLines)
    findings.push(disagreement(`${inLines} messages of keys wait in lines that list ${listed}`))
  if (turnless > 0)
    findings.push(disagreement(`${turnless === 1 ? '1 key waits' : `${turnless} keys wait`} without a turn`))
  if (findings.length > 0) return findings
  return [fine(`the keys of this queue agree on ${payloads} messages`)]
}

function disagreement(what: string): Finding {
  return problem(`keys of this queue were changed by somebody else: ${what}`, REMEDY)
}
