/** The queues of an application, by name. */
import type { DiscoveryService } from '@nestjs/core'
import { Punctual } from '../../index.ts'
import { insidesOf } from '../../queue/insides.ts'

export function queuesIn(discovery: DiscoveryService): ReadonlyMap<string, Punctual> {
  const queues = discovery
    .getProviders()
    .map(({ instance }): unknown => instance)
    .filter((instance) => instance instanceof Punctual)
  return new Map(queues.map((queue) => [insidesOf(queue).settings.queue, queue]))
}
