import { sleep } from '../../../clock.ts'
import type { Duration, Punctual, PunctualOptions } from '../../../index.ts'
import { untilSignalled } from '../../../queue/signals.ts'
import { defineCommand, type Call, type OptionSpecs, type Values } from '../command.ts'
import { EXIT } from '../../shared/failure.ts'
import { CALENDAR_OPTIONS, parseWholeNumber, readCalendars } from '../values.ts'
import { answerProbes } from '../work/health.ts'
import { Journal } from '../work/journal.ts'
import { gatherHandlers } from '../work/sources.ts'
import { WEBHOOK_OPTIONS, webhookHandlers } from '../work/webhooks.ts'

const LATENESS_EVERY_MS = 60_000
const CONCURRENCY_MAX = 100_000
const PORTS = { min: 1, max: 65_535 }

const OPTIONS = {
  exec: {
    type: 'string',
    multiple: true,
    value: 'TOPIC=COMMAND',
    help: 'run a command per message; repeatable',
  },
  webhook: { type: 'string', multiple: true, value: 'TOPIC=URL', help: 'POST each message; repeatable' },
  ...WEBHOOK_OPTIONS,
  concurrency: { type: 'string', value: 'N', help: 'how many run at once; default 100' },
  timeout: { type: 'string', value: 'DURATION', help: 'how long one attempt may take; default 60s' },
  lease: { type: 'string', value: 'DURATION', help: 'how long a worker may be silent; default 15s' },
  'stop-timeout': {
    type: 'string',
    value: 'DURATION',
    help: 'how long a stop waits for handlers; default 30s',
  },
  'late-after': { type: 'string', value: 'DURATION', help: 'a later start is reported; default 1s' },
  health: { type: 'string', value: 'PORT', help: 'answer /healthz on this port, for probes' },
  quiet: { type: 'boolean', short: 'q', help: 'no line for what was completed' },
  ...CALENDAR_OPTIONS,
} as const satisfies OptionSpecs

export const work = defineCommand({
  name: 'work',
  summary: 'run handlers until told to stop',
  operands: '[FILE]',
  arity: [0, 1],
  options: OPTIONS,
  examples: [
    [
      'punctual work handlers.ts',
      `a module: export default { 'order.close': async ({ payload }) => { ... } }`,
    ],
    ['punctual work handlers.js --concurrency 20 --timeout 5m', 'twenty at once, five minutes each'],
    [`punctual work --exec 'mail.send=python3 send.py'`, 'a command: payload on its standard input'],
    ['punctual work --webhook order.close=https://shop.example/close', 'a POST for each message'],
  ],
  notes: [
    'SIGINT (Ctrl-C) or SIGTERM stops gracefully: what runs may finish, what has not started is given back. A second\nsignal no longer waits.',
    'A command is not run by a shell. Exit code 0: done; 65: to the dead letters; others: retried. A webhook answers\n2xx: done; 410: to the dead letters; 429 or 503 with Retry-After: again then; others: retried. See docs/cli.md.',
  ],
  makesStore: true,
  isPatient: true,
  run: async (call) => {
    const { values, positionals, out } = call
    const { exec = [], webhook = [] } = values
    const settings = workerSettings(values)
    const webhooks = webhookHandlers(call, '--webhook', webhook)
    const handlers = await gatherHandlers({ file: positionals[0], exec, webhooks })
    const journal = new Journal({ ...call, isQuiet: values.quiet === true })
    const endProbes =
      values.health === undefined
        ? undefined
        : await answerProbes(parseWholeNumber(values.health, '--health', PORTS))
    const queue = call.open({ ...settings, ...readCalendars(values), logger: journal.logger })
    for (const { topic, handler, options } of handlers) queue.handle(topic, handler, options)
    journal.watch(queue)
    journal.begun(
      handlers.map(({ topic }) => topic),
      `${call.storeName}, queue "${call.queueName}"`,
    )
    // The reader of the journal has gone: as when a pipe breaks, this is the end, but an orderly one.
    out.closed.addEventListener('abort', () => void queue.stop())
    const signals = untilSignalled(() => undefined) // `run` acts on them; this one only tells.
    void signals.first.then(() => journal.stopping())
    const watching = new AbortController()
    const watch = watchLateness(call, queue, journal, watching.signal)
    const report = await queue.run().finally(() => {
      endProbes?.()
      watching.abort()
      signals.end()
    })
    await watch
    journal.ended(report)
    return report.errors.length === 0 ? EXIT.fine : EXIT.failed
  },
})

/** Once a minute, when something was started lately: by all workers, where the engine keeps figures. */
async function watchLateness(
  { clock }: Call<typeof OPTIONS>,
  queue: Punctual,
  journal: Journal,
  signal: AbortSignal,
): Promise<void> {
  await sleep(clock, LATENESS_EVERY_MS, signal)
  while (!signal.aborted) {
    try {
      const { latenessMs } = await queue.stats({ topics: [] })
      if (latenessMs !== undefined) journal.lateness(latenessMs)
    } catch {
      // The store does not answer: the worker itself says so.
    }
    await sleep(clock, LATENESS_EVERY_MS, signal)
  }
}

function workerSettings(values: Values<typeof OPTIONS>): PunctualOptions {
  const { concurrency, timeout, lease, 'stop-timeout': stopTimeout, 'late-after': lateAfter } = values
  const range = { min: 1, max: CONCURRENCY_MAX }
  return {
    ...(concurrency === undefined
      ? {}
      : { concurrency: parseWholeNumber(concurrency, '--concurrency', range) }),
    ...(timeout === undefined ? {} : { timeout: timeout as Duration }),
    ...(lease === undefined ? {} : { lease: lease as Duration }),
    ...(stopTimeout === undefined ? {} : { stopTimeout: stopTimeout as Duration }),
    ...(lateAfter === undefined ? {} : { lateAfter: lateAfter as Duration }),
  }
}
