/** Who handles the demo's messages: in this process, or in a child that can be killed. */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Punctual, PunctualOptions } from '../../../index.ts'
import { CHANCE_TOPIC, ORDER_TOPIC } from './plan.ts'
import type { Arrival } from './tally.ts'

/** A short lease, so that a crash is noticed while the visitor still looks; and what was cut off starts again soon. */
export const DEMO_SETTINGS = {
  lease: '2s',
  retry: { limit: 5, delays: ['100ms'] },
} as const satisfies PunctualOptions

export type Report = { readonly kind: 'started' | 'arrived' } & Arrival

/**
 * `handler` is what a message makes the worker do. Its end is the arrival, whatever the store hears of it afterwards: a
 * message whose worker dies in between comes again, and that is counted as such.
 */
export async function workHere(
  queue: Punctual,
  report: (report: Report) => void,
  handler: () => Promise<void> | void = () => undefined,
): Promise<void> {
  for (const topic of [ORDER_TOPIC, CHANCE_TOPIC]) {
    queue.handle(topic, async ({ id, latenessMs, attempt }) => {
      report({ kind: 'started', id, latenessMs, attempt })
      await handler()
      report({ kind: 'arrived', id, latenessMs, attempt })
    })
  }
  await queue.start()
}

export type ChildWorker = { readonly pid: number; readonly end: (signal: NodeJS.Signals) => Promise<void> }

/** Runs `child.js` beside this file. */
export async function workInChild(
  store: string,
  queueName: string,
  report: (report: Report) => void,
): Promise<ChildWorker> {
  const child: ChildProcess = fork(fileURLToPath(new URL('child.js', import.meta.url)), [store, queueName])
  child.on('message', (message) => report(message as Report))
  await once(child, 'spawn')
  return {
    pid: child.pid ?? 0,
    end: async (signal) => {
      if (child.exitCode !== null || child.signalCode !== null) return
      // Both: what it said last may be read after its exit was noticed.
      const over = Promise.all([once(child, 'exit'), once(child, 'disconnect')])
      child.kill(signal)
      await over
    },
  }
}
