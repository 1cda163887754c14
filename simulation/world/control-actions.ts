/** What users do with pauses and limits, at random. Rates are low: a worker asks once for each start. */
import type { Queue } from '../../src/queue/queue.ts'
import type { Chance } from './chance.ts'
import type { World } from './world.ts'

type ControlKind = 'pause' | 'pause until' | 'resume' | 'resume over' | 'rate' | 'concurrency' | 'no limit'

const KINDS: Readonly<Record<ControlKind, number>> = {
  pause: 2,
  'pause until': 2,
  resume: 3,
  'resume over': 2,
  rate: 2,
  concurrency: 3,
  'no limit': 2,
}

/** No limit holds over partitions. */
const WITHOUT_LIMITS = { ...KINDS, 'resume over': 0, rate: 0, concurrency: 0, 'no limit': 0 }

/** The share of pauses and resumes that are about the whole queue. */
const WHOLE_QUEUE = 0.2

export async function actOnControls(
  world: World,
  queue: Queue,
  topic: string,
  chance: Chance,
): Promise<void> {
  const kind = chance.weighted(world.partitions.length === 1 ? KINDS : WITHOUT_LIMITS)
  const aboutMs = chance.spread(100, world.plan.stormMs / 4)
  const which = chance.happens(WHOLE_QUEUE) ? undefined : topic
  world.history.note('user', () => `${kind} ${which ?? 'all'} ${Math.round(aboutMs)}`)
  switch (kind) {
    case 'pause':
    case 'pause until': {
      const until = kind === 'pause' ? {} : { until: `${Math.max(1, aboutMs)}ms` as const }
      await queue.pause(which, until)
      for (const { controls } of world.partitions) controls.pauseResolved(which ?? '')
      return
    }
    case 'resume':
      return queue.resume(which)
    case 'resume over':
      return queue.resume(which, { over: Math.max(1_000, aboutMs) })
    case 'rate': {
      const count = chance.pick([1, 5, 20])
      return queue.limit(topic, {
        rate: `${count}/${chance.pick(['1s', '10s'])}`,
        burst: chance.pick([1, 3, 10]),
        ...(chance.happens(0.3) ? { concurrency: chance.whole(1, 5) } : {}),
      })
    }
    case 'concurrency':
      return queue.limit(topic, { concurrency: chance.pick([1, 1, 2, 5]) })
    case 'no limit':
      return queue.limit(topic, null)
  }
}
