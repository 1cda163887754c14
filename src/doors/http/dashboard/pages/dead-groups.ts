/** Dead letters by what killed them, gathered call by call: on some engines they lie among a million others. */
import { useEffect, useState } from 'preact/hooks'
import { call, inQueue, troubleOf } from '../state/api.ts'
import { serverNow } from '../state/clock.ts'
import { beat, stats } from '../state/live.ts'
import type { DeadAnswer, ShownGroup, Trouble } from '../state/wire.ts'

/** What was gathered from no more than this is gathered again while it is shown. */
const LOOK_AGAIN_MAX = 40_000
/** As long as we go on without being asked to. */
const PATIENCE_MS = 3_000

export type Gathered = {
  readonly groups: readonly ShownGroup[]
  readonly looked: number
  readonly cursor: string | undefined
}

export type Gathering = {
  readonly gathered: Gathered | undefined
  readonly trouble: Trouble | undefined
  readonly goOn: () => void
}

export function useDeadGroups(topic: string | undefined, isWanted: boolean): Gathering {
  const [gathered, setGathered] = useState<Gathered | undefined>(undefined)
  const [trouble, setTrouble] = useState<Trouble | undefined>(undefined)
  const look = (before: Gathered | undefined, signal?: AbortSignal): void => {
    void gather(topic, before, signal).then(
      (found) => {
        setGathered(found)
        setTrouble(undefined)
      },
      (error: unknown) => signal?.aborted !== true && setTrouble(troubleOf(error)),
    )
  }
  // Where looking takes long, only when their number has changed.
  const isQuick = gathered === undefined || gathered.looked <= LOOK_AGAIN_MAX
  const dead = stats.value?.counts.dead
  useEffect(() => {
    const abort = new AbortController()
    if (isWanted) look(undefined, abort.signal)
    return () => abort.abort()
  }, [topic, isWanted, dead, isQuick ? beat.value : 0])
  return { gathered, trouble, goOn: () => look(gathered) }
}

async function gather(
  topic: string | undefined,
  before: Gathered | undefined,
  signal?: AbortSignal,
): Promise<Gathered> {
  const startedAt = serverNow()
  let found = before ?? { groups: [], looked: 0, cursor: undefined }
  do {
    const query = new URLSearchParams({
      ...(topic === undefined ? {} : { topic }),
      ...(found.cursor === undefined ? {} : { cursor: found.cursor }),
    })
    const path = `${inQueue('dead')}?${query.toString()}`
    const answer = await call<DeadAnswer>('GET', path, signal === undefined ? {} : { signal })
    found = {
      groups: addUp(found.groups, answer.groups),
      looked: found.looked + answer.looked,
      cursor: answer.cursor,
    }
  } while (found.cursor !== undefined && serverNow() - startedAt < PATIENCE_MS)
  return found
}

function addUp(a: readonly ShownGroup[], b: readonly ShownGroup[]): ShownGroup[] {
  const byKey = new Map(a.map((group) => [group.key, group]))
  for (const group of b) {
    const known = byKey.get(group.key)
    byKey.set(
      group.key,
      known === undefined
        ? group
        : {
            ...known,
            count: known.count + group.count,
            firstDiedAt: Math.min(known.firstDiedAt, group.firstDiedAt),
            lastDiedAt: Math.max(known.lastDiedAt, group.lastDiedAt),
          },
    )
  }
  return [...byKey.values()].toSorted((x, y) => y.count - x.count)
}
