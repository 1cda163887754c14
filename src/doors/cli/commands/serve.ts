import { errorCode } from '../../../core/errors.ts'
import { Punctual, type Logger, type PunctualOptions } from '../../../index.ts'
import { DEFAULT_QUEUE } from '../../../queue/settings.ts'
import { untilSignalled } from '../../../queue/signals.ts'
import { HttpServer, PORT_DEFAULT } from '../../http/server.ts'
import { HAS_DASHBOARD } from '../../http/routes/pages.ts'
import { watchTokenFile } from '../../http/access/token-file.ts'
import { SECRET_LENGTH_MIN, type ServeOptions } from '../../http/options.ts'
import type { QueueSource } from '../../http/served.ts'
import { CallError, EXIT, FailedError } from '../../shared/failure.ts'
import { defineCommand, type Call, type OptionSpecs } from '../command.ts'
import { plural } from '../terminal/format.ts'
import { CALENDAR_OPTIONS, parseWholeNumber, readCalendars } from '../values.ts'
import { Journal } from '../work/journal.ts'
import { checkTopicsOnce } from '../work/sources.ts'
import { WEBHOOK_OPTIONS, webhookHandlers } from '../work/webhooks.ts'

const OPTIONS = {
  port: { type: 'string', value: 'PORT', help: `default ${PORT_DEFAULT}; 0 takes a free one` },
  host: {
    type: 'string',
    value: 'ADDRESS',
    help: 'default 127.0.0.1; others can reach any other: needs --tokens',
  },
  tokens: {
    type: 'string',
    value: 'FILE',
    help: 'who may call, as "punctual token" keeps it; read again when it changes',
  },
  'base-path': { type: 'string', value: 'PATH', help: 'where a proxy shows it: /punctual' },
  'allowed-host': {
    type: 'string',
    multiple: true,
    value: 'NAME',
    help: 'a name in Host that is answered besides loopback; repeatable',
  },
  cors: {
    type: 'string',
    multiple: true,
    value: 'ORIGIN',
    help: 'whose pages may call: https://ops.example; repeatable',
  },
  deliver: {
    type: 'string',
    multiple: true,
    value: 'TOPIC=URL',
    help: 'POST each message of a topic there, as "work --webhook" does; repeatable',
  },
  ...WEBHOOK_OPTIONS,
  rate: { type: 'string', value: 'N', help: 'calls a second of one token; default 10000' },
  ...CALENDAR_OPTIONS,
} as const satisfies OptionSpecs

type ServeCall = Call<typeof OPTIONS>

export const serve = defineCommand({
  name: 'serve',
  summary: 'the dashboard, and an HTTP server for every language: produce, look, operate, work',
  operands: '',
  arity: [0, 0],
  options: OPTIONS,
  examples: [
    ['punctual serve', `all queues of the store at http://127.0.0.1:${PORT_DEFAULT}, for this machine alone`],
    ['punctual serve --queue orders --port 8080', 'one queue'],
    ['punctual serve --host 0.0.0.0 --tokens punctual-tokens.json', 'for others too: see "punctual token"'],
  ],
  notes: [
    'The dashboard is at /ui below the address that is printed: open it in a browser.',
    'Without --queue (and without $PUNCTUAL_QUEUE) it serves every queue of the store, and "default". It fires schedules of "default", or of --queue, and of queues whose workers come over HTTP.',
    '$PUNCTUAL_SERVER_KEY, at least 16 characters, signs lease handles and sessions: give all servers of a store the same.\nWithout it they are good for this process alone.',
    'SIGINT (Ctrl-C) or SIGTERM stops within five seconds. See docs/http.md.',
  ],
  makesStore: true,
  isPatient: true,
  run: async (call) => {
    const { out } = call
    const journal = new Journal({ ...call, isQuiet: true })
    const logger: Logger = { ...journal.logger, info: (message) => journal.note('info', message) }
    const deliveries = checkTopicsOnce(webhookHandlers(call, '--deliver', call.values.deliver ?? []))
    const calendars = readCalendars(call.values)
    const name = isAll(call) ? { queue: DEFAULT_QUEUE } : {}
    const queue = call.open({ ...name, ...calendars, logger, stopTimeout: '2s' })
    const server = new HttpServer(optionsOf(call, queue, logger), {
      storeName: call.storeName,
      ...sourceOf(call, calendars),
    })
    const signals = untilSignalled(() => undefined)
    const unread = new Promise<void>((resolve) => out.closed.addEventListener('abort', () => resolve()))
    try {
      const { host, port } = await listen(server, addressOf(call))
      server.beginWork()
      for (const { topic, handler, options } of deliveries) queue.handle(topic, handler, options)
      if (deliveries.length > 0) await queue.start()
      const shown = host.includes(':') ? `[${host}]` : host
      const address = `http://${shown}:${port}${call.values['base-path'] ?? ''}`
      journal.note('serving', `${address} from ${call.storeName}`)
      if (HAS_DASHBOARD) journal.note('dashboard', `${address}/ui`)
      if (call.env.PUNCTUAL_SERVER_KEY === undefined && call.values.tokens !== undefined)
        journal.trouble(
          'warning',
          'no $PUNCTUAL_SERVER_KEY: sessions and lease handles end with this process',
        )
      await Promise.race([signals.first, unread])
      journal.note('stopping', 'what is under way may finish')
      await server.close()
      journal.note('stopped', 'nothing is open any more')
      return EXIT.fine
    } finally {
      await server.close()
      signals.end()
    }
  },
})

async function listen(
  server: HttpServer,
  address: { port?: number; host?: string },
): Promise<{ host: string; port: number }> {
  try {
    return await server.listen(address)
  } catch (error) {
    const { port = PORT_DEFAULT } = address
    if (errorCode(error) === 'EADDRINUSE')
      throw new FailedError(
        `port ${port} is taken by another program; use --port PORT, or --port 0 for a free one.`,
      )
    if (errorCode(error) === 'EACCES')
      throw new FailedError(`this user may not listen on port ${port}; use --port PORT, above 1023.`)
    throw error
  }
}

function addressOf({ values }: ServeCall): { port?: number; host?: string } {
  const { port, host } = values
  return {
    ...(port === undefined ? {} : { port: parseWholeNumber(port, '--port', { min: 0, max: 65_535 }) }),
    ...(host === undefined ? {} : { host }),
  }
}

function optionsOf(call: ServeCall, queue: Punctual, logger: Logger): ServeOptions {
  const { values, env, clock } = call
  const { tokens, rate, cors, 'base-path': basePath, 'allowed-host': allowedHosts } = values
  const secret = env.PUNCTUAL_SERVER_KEY
  if (secret !== undefined && secret !== '' && secret.length < SECRET_LENGTH_MIN)
    throw new CallError(
      `$PUNCTUAL_SERVER_KEY has ${plural(secret.length, 'character')}; give at least ${SECRET_LENGTH_MIN}, such as: openssl rand -hex 24`,
    )
  return {
    queues: [queue],
    logger,
    ...(tokens === undefined ? {} : { tokens: watchTokenFile(tokens, clock, logger) }),
    ...(basePath === undefined ? {} : { basePath }),
    ...(allowedHosts === undefined ? {} : { allowedHosts }),
    ...(cors === undefined ? {} : { cors }),
    ...(secret === undefined || secret === '' ? {} : { secret }),
    ...(rate === undefined ? {} : { rate: parseWholeNumber(rate, '--rate', { min: 1, max: 10_000_000 }) }),
  }
}

function isAll({ values, env }: ServeCall): boolean {
  const { queue } = values as { readonly queue?: string }
  return queue === undefined && (env.PUNCTUAL_QUEUE ?? '') === ''
}

function sourceOf(call: ServeCall, calendars: PunctualOptions): { source?: QueueSource } {
  if (!isAll(call)) return {}
  return {
    source: {
      names: () => Punctual.queues(call.store),
      open: (name) => call.open({ ...calendars, queue: name }),
    },
  }
}
