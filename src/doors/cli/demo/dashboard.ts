/** The dashboard beside the demo: for this machine alone, until Ctrl-C. */
import { segmentOf } from '../../../core/encoding/segment.ts'
import { untilSignalled } from '../../../queue/signals.ts'
import { HttpServer } from '../../http/server.ts'
import type { Call } from '../command.ts'

export type DemoDashboard = {
  readonly address: string
  /** The messages have arrived, and what is seen stays to be looked at. Ends at once if somebody signalled before. */
  readonly untilSignalled: () => Promise<void>
  readonly close: () => Promise<void>
}

export async function openDashboard(
  { open, out, json, storeName }: Call,
  queueName: string,
): Promise<DemoDashboard> {
  // A queue of its own: that of the demo stops when all has arrived.
  const server = new HttpServer({ queues: [open({ queue: queueName })], logger: false }, { storeName })
  const { host, port } = await server.listen({ port: 0 })
  const address = `http://${host}:${port}/ui/${segmentOf(queueName)}`
  // Heard from the beginning, so that no signal falls between the demo and what follows.
  const signals = untilSignalled(() => undefined)
  const unread = new Promise<void>((resolve) => out.closed.addEventListener('abort', () => resolve()))
  const over = Promise.race([signals.first, unread]).then(() => 'over' as const)
  if (json) out.json({ event: 'dashboard', address })
  return {
    address,
    untilSignalled: async () => {
      const isOver = (await Promise.race([over, Promise.resolve('on')])) === 'over'
      if (!isOver && !json) out.line(`The dashboard stays at ${address} until you press Ctrl-C.`)
      await over
    },
    close: async () => {
      signals.end()
      await server.close()
    },
  }
}
