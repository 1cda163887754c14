/** Whether the stores answer, in the form that @nestjs/terminus takes: `health.check([() => punctual.check()])`. */
import type { DiscoveryService } from '@nestjs/core'
import { endsWithin } from '../../clock.ts'
import { PunctualError } from '../../core/errors.ts'
import type { Punctual } from '../../index.ts'
import { insidesOf } from '../../queue/insides.ts'
import { queuesIn } from './queues.ts'

const ANSWER_MS = 3_000

export type QueueHealth = {
  readonly status: 'up' | 'down'
  /** By queue: `up`, or why not. */
  readonly queues: Readonly<Record<string, string>>
}

export class PunctualHealth {
  readonly #discovery: DiscoveryService

  constructor(discovery: DiscoveryService) {
    this.#discovery = discovery
  }

  /** Never rejects. `key`: the name of this check in the answer. */
  async check<Key extends string = 'punctual'>(key?: Key): Promise<Record<Key, QueueHealth>> {
    const answers = [...queuesIn(this.#discovery)].map(
      async ([name, queue]) => [name, await answerOf(queue)] as const,
    )
    const queues = Object.fromEntries(await Promise.all(answers))
    const status = Object.values(queues).every((answer) => answer === 'up') ? 'up' : 'down'
    return { [key ?? 'punctual']: { status, queues } } as Record<Key, QueueHealth>
  }
}

async function answerOf(queue: Punctual): Promise<string> {
  const { open, settings } = insidesOf(queue)
  const counting = open().then((store) => store.count())
  try {
    const isInTime = await endsWithin(settings.clock, ANSWER_MS, counting)
    return isInTime ? 'up' : `no answer within ${ANSWER_MS} ms`
  } catch (error) {
    return error instanceof PunctualError ? error.code : String(error)
  }
}
