/** Whether the sentinels could make a failover: who of them answers, and whether those are enough to agree. */
import { fine, problem, warning } from '../../contract/findings.ts'
import type { Finding } from '../../contract/store.ts'
import { describeSentinel, type Sentinels } from '../sentinel/sentinels.ts'
import { toPunctualError } from '../link/refusals.ts'

const SENTINELS_MIN = 3

export async function examineSentinels(sentinels: Sentinels): Promise<Finding[]> {
  const { group } = sentinels
  const examined = await Promise.all(
    group.sentinels.map(async (address): Promise<Finding> => {
      const name = describeSentinel(address)
      try {
        const verdict = String(await sentinels.ask(address, ['SENTINEL', 'CKQUORUM', group.primaryName]))
        return fine(`${name}: ${verdict}`)
      } catch (error) {
        const { message } = toPunctualError(error, name)
        return problem(message, 'as long as too few sentinels agree, a primary that dies is not replaced')
      }
    }),
  )
  if (group.sentinels.length >= SENTINELS_MIN) return examined
  return [
    ...examined,
    warning(
      `the URL names ${group.sentinels.length} sentinel(s): when those are away, none says where the primary is`,
      'run three or more on machines of their own, and name them all',
    ),
  ]
}
