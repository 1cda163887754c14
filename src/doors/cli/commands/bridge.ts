import { Bridge } from '../../amqp/bridge.ts'
import { bridgeLine, type BridgeEvent } from '../../amqp/events.ts'
import {
  parseBridgeOptions,
  ROUTE_DEFAULT,
  type BridgeOptions,
  type BridgeRoute,
} from '../../amqp/options.ts'
import type { Duration } from '../../../index.ts'
import { untilSignalled } from '../../../queue/signals.ts'
import { defineCommand, type Call, type OptionSpecs, type Values } from '../command.ts'
import { CallError, EXIT, type ExitCode } from '../../shared/failure.ts'
import { parseWholeNumber } from '../values.ts'
import { Journal } from '../work/journal.ts'
import { showFindings } from './doctor.ts'

const OPTIONS = {
  from: {
    type: 'string',
    multiple: true,
    value: 'EXCHANGE',
    help: `what publishers use; default ${ROUTE_DEFAULT.from}; repeatable, each with a --to`,
  },
  to: {
    type: 'string',
    multiple: true,
    value: 'EXCHANGE',
    help: 'what gets the messages at their moment; default: the default exchange, where the key names a queue',
  },
  prefetch: { type: 'string', value: 'N', help: 'how many are on their way in at once; default 1000' },
  concurrency: { type: 'string', value: 'N', help: 'how many are on their way out at once; default 1000' },
  heartbeat: { type: 'string', value: 'DURATION', help: 'how often connections show life; default 10s' },
  lease: { type: 'string', value: 'DURATION', help: 'how long a bridge may be silent; default 30s' },
  'stop-timeout': {
    type: 'string',
    value: 'DURATION',
    help: 'how long a stop waits for confirms; default 10s',
  },
  management: {
    type: 'string',
    value: 'URL',
    help: 'the management plugin, for --doctor: http://HOST:15672',
  },
  doctor: { type: 'boolean', help: 'examine broker and store, and end' },
} as const satisfies OptionSpecs

export const bridge = defineCommand({
  name: 'bridge',
  summary: 'delay messages of RabbitMQ: publish with x-delay, they come out at their moment',
  operands: 'URL',
  arity: [1, 1],
  options: OPTIONS,
  examples: [
    [
      'punctual bridge amqp://localhost --from orders.delayed --to orders',
      'publish to orders.delayed with the header x-delay: 60000; it reaches orders a minute later',
    ],
    [
      'punctual bridge amqp://user:password@rabbit/shop --queue shop',
      'a virtual host; several bridges on one queue of a shared store share the work',
    ],
    [
      'punctual bridge amqp://localhost --from orders.delayed --to orders --doctor',
      'what is wrong, if anything',
    ],
  ],
  notes: [
    'SIGINT (Ctrl-C) or SIGTERM stops in order. Nothing is lost by a stop, a crash, or a broker that is away.',
    'Needs the package "amqplib". See docs/rabbitmq.md.',
  ],
  makesStore: true,
  isPatient: true,
  run: async (call) => {
    const { values } = call
    const journal = new Journal({ ...call, isQuiet: true })
    const made = new Bridge(parseBridgeOptions(optionsOf(call, journal)))
    return values.doctor === true ? examine(call, made) : work(call, made, journal)
  },
})

async function examine({ out, json }: Call<typeof OPTIONS>, made: Bridge): Promise<ExitCode> {
  try {
    return showFindings(await made.doctor(), out, json)
  } finally {
    await made.stop()
  }
}

async function work({ out }: Call<typeof OPTIONS>, made: Bridge, journal: Journal): Promise<ExitCode> {
  const signals = untilSignalled(() => undefined)
  const unread = new Promise<void>((resolve) => {
    if (out.closed.aborted) resolve()
    else out.closed.addEventListener('abort', () => resolve())
  })
  const ending = Promise.race([signals.first, unread])
  journal.watch(made.queue)
  try {
    const started = made.start()
    await Promise.race([started, ending])
    await ending
    journal.stopping()
    const stopped = made.stop()
    await started.catch(() => undefined) // Told to stop before it was up.
    const report = await stopped
    journal.ended(report)
    return report.errors.length === 0 ? EXIT.fine : EXIT.failed
  } finally {
    signals.end()
  }
}

function optionsOf(call: Call<typeof OPTIONS>, journal: Journal): BridgeOptions {
  const { values, positionals, store, queueName } = call
  const { prefetch, concurrency, heartbeat, lease, management } = values
  return {
    url: positionals[0] ?? '',
    routes: routesOf(values),
    store,
    queue: queueName,
    logger: journal.logger,
    onEvent: (event) => tell(journal, event),
    ...(prefetch === undefined
      ? {}
      : { prefetch: parseWholeNumber(prefetch, '--prefetch', { min: 1, max: 65_535 }) }),
    ...(concurrency === undefined
      ? {}
      : { concurrency: parseWholeNumber(concurrency, '--concurrency', { min: 1, max: 100_000 }) }),
    ...(heartbeat === undefined ? {} : { heartbeat: heartbeat as Duration }),
    ...(lease === undefined ? {} : { lease: lease as Duration }),
    ...(values['stop-timeout'] === undefined ? {} : { stopTimeout: values['stop-timeout'] as Duration }),
    ...(management === undefined ? {} : { management }),
  }
}

function tell(journal: Journal, event: BridgeEvent): void {
  const isGood = event.kind === 'connected' || event.kind === 'unblocked'
  if (isGood) journal.note(event.kind, bridgeLine(event))
  else journal.trouble('warning', bridgeLine(event))
}

/** The first --from goes with the first --to, and so on. */
function routesOf({ from = [], to = [] }: Values<typeof OPTIONS>): BridgeRoute[] {
  if (from.length === 0 && to.length === 0) return [ROUTE_DEFAULT]
  if (to.length > 0 && from.length !== to.length) {
    throw new CallError(`give as many --to as --from; there are ${from.length} --from and ${to.length} --to.`)
  }
  return from.map((name, i) => ({ from: name, to: to[i] ?? '' }))
}
