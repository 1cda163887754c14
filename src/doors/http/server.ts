/**
 * The server: one core that answers requests, and two shells around it. Mounted into an application it answers only whom
 * the application or a token vouches for; listening by itself without tokens it answers this machine alone.
 */
import { setMaxListeners } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { endsWithin } from '../../clock.ts'
import { UsageError } from '../../core/errors.ts'
import { Access, type AccessMode } from './access/access.ts'
import { HostCheck, isLoopbackAddress } from './access/hosts.ts'
import { Places } from './access/places.ts'
import { CallRates } from './access/rates.ts'
import { Sessions } from './access/sessions.ts'
import { Signer } from './access/signing.ts'
import { Audit } from './access/audit.ts'
import { Confirmations } from './bulk/confirmations.ts'
import { parseServeOptions, type InnerOptions, type ServeOptions, type ServeSettings } from './options.ts'
import type { ServerParts } from './parts.ts'
import { perform } from './perform.ts'
import type { HttpRequest } from './wire/request.ts'
import { HttpRefusal, problemOf, refuse } from './wire/problem.ts'
import type { HttpReply } from './table/route.ts'
import { Router } from './table/router.ts'
import { ServedQueues } from './served.ts'
import { fetchHandler, type FetchHandler } from './shells/fetch.ts'
import { HostClosing } from './shells/host-closing.ts'
import { nodeListener, type Answerer, type NodeListener } from './shells/node.ts'
import { HAS_DASHBOARD, PAGE_ROUTES } from './routes/pages.ts'
import { ROUTES } from './table/table.ts'

export const PORT_DEFAULT = 7_780
const HOST_DEFAULT = '127.0.0.1'

/** Node's own defaults let a client hold a connection for minutes. */
const HEADERS_MS = 10_000
const REQUEST_MS = 30_000
const CHECK_MS = 1_000
const HEADER_BYTES_MAX = 16 * 1024
const CONNECTIONS_MAX = 10_000

/** What `close` may take: for answers under way, and for the rest. */
const ANSWERS_MS = 3_000
const CLOSE_MS = 1_000

export type ListenOptions = { port?: number; host?: string }

export class HttpServer {
  /** For `node:http`, Express, Connect. */
  readonly listener: NodeListener
  /** For hosts that speak `Request -> Response`. */
  readonly fetch: FetchHandler
  readonly #settings: ServeSettings
  readonly #server: Omit<ServerParts, 'access'>
  readonly #sessions: Sessions
  readonly #stopping = new AbortController()
  readonly #answered = Array.from({ length: 6 }, () => 0)
  /** Requests that are not answered yet, and who wants to know when there are none. */
  #underWay = 0
  #onIdle: (() => void) | undefined
  #http: Server | undefined
  #closing: Promise<void> | undefined

  constructor(options: ServeOptions, inner: InnerOptions = {}) {
    const settings = parseServeOptions(options)
    const { clock, random, logger, basePath } = settings
    this.#settings = settings
    const signer = new Signer(settings.secret, random)
    this.#sessions = new Sessions({ signer, clock, random, basePath })
    const audit = new Audit(clock, logger)
    const queues = new ServedQueues(clock, settings.queues, inner.source)
    this.#server = {
      clock,
      random,
      logger,
      basePath,
      startedAt: Math.floor(clock.now()),
      storeName: inner.storeName ?? '',
      limits: { envelopeBytes: 4 * 1024, batchBytes: 8 * 1024 * 1024, batchEntries: 1_000 },
      queues,
      signer,
      confirmations: new Confirmations(signer, clock),
      audit,
      listeners: new Places(1_000),
      parked: new Places(1_000, 1_000),
      answered: this.#answered,
      hasDashboard: HAS_DASHBOARD,
      stopping: this.#stopping.signal,
    }
    // As many may wait for it as there are open calls; Node warns of a leak from eleven on.
    setMaxListeners(0, this.#stopping.signal)
    audit.listen((entry) => {
      for (const served of queues.all)
        if (served.name === entry.queue) served.note('audit', entry, entry.topic)
    })
    const now = (): number => clock.now()
    const mounted = this.#answerer('mounted')
    this.listener = nodeListener(mounted, now, new HostClosing(clock))
    this.fetch = fetchHandler(mounted, now)
  }

  /** Resolves to the address once it listens. Port 0 takes a free one. */
  async listen(options: ListenOptions = {}): Promise<{ host: string; port: number }> {
    const { port = PORT_DEFAULT, host = HOST_DEFAULT } = options
    const { access, tokens } = this.#settings
    if (access === undefined && tokens === undefined && !isLoopbackAddress(host))
      throw new UsageError(
        'OPTION_INVALID',
        `host is "${host}", which others can reach, and there are no tokens; make one with "punctual token", or use ${HOST_DEFAULT}.`,
        { value: host },
      )
    const { clock } = this.#settings
    const http = createServer(
      { connectionsCheckingInterval: CHECK_MS, maxHeaderSize: HEADER_BYTES_MAX, noDelay: true },
      nodeListener(this.#answerer('listening'), () => clock.now(), new HostClosing(clock)),
    )
    http.headersTimeout = HEADERS_MS
    http.requestTimeout = REQUEST_MS
    http.maxConnections = CONNECTIONS_MAX
    this.#http = http
    await new Promise<void>((resolve, reject) => {
      http.once('error', reject)
      http.listen(port, host, () => resolve())
    })
    return { host, port: (http.address() as AddressInfo).port }
  }

  /**
   * Works on the queues from now on, and not only when the first worker asks: takes over what others left behind, and fires
   * schedules. A store that is away is tried again then.
   */
  beginWork(): void {
    for (const { desk } of this.#server.queues.all)
      desk.begin().catch((error: unknown) => this.#settings.logger.warn(problemOf(error).detail))
  }

  /** Ends in order, within five seconds: nothing new, waiting calls answered, what is under way finished. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    const { clock } = this.#settings
    for (const served of this.#server.queues.all) served.stopLive()
    this.#stopping.abort()
    const closed = new Promise<void>((resolve) => {
      if (this.#http === undefined) resolve()
      else this.#http.close(() => resolve())
    })
    this.#http?.closeIdleConnections()
    const ending = this.#server.queues.all.flatMap(({ jobs, desk }) => [jobs.stopAll(), desk.stop()])
    await endsWithin(clock, ANSWERS_MS, Promise.allSettled([this.#whenIdle(), ...ending]))
    this.#http?.closeIdleConnections()
    if (!(await endsWithin(clock, CLOSE_MS, closed))) this.#http?.closeAllConnections()
  }

  #whenIdle(): Promise<void> {
    if (this.#underWay === 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.#onIdle = resolve
    })
  }

  #answerer(where: 'mounted' | 'listening'): Answerer {
    const { access, tokens, allowedHosts, cors, rate, clock } = this.#settings
    const mode: AccessMode =
      access !== undefined
        ? { kind: 'host', check: access }
        : tokens !== undefined
          ? { kind: 'tokens', tokens }
          : { kind: where === 'listening' ? 'open' : 'closed' }
    const performing = {
      server: { ...this.#server, access: new Access(mode, clock, this.#sessions) },
      router: new Router([...ROUTES, ...PAGE_ROUTES]),
      // A host application has looked at it already.
      hosts: new HostCheck(allowedHosts, where === 'mounted' || mode.kind !== 'open'),
      rates: new CallRates(clock, { burst: rate, intervalMs: 1_000 / rate }),
      cors: new Set(cors),
      corsHeaders: [
        'authorization',
        'content-type',
        ...new Set(ROUTES.flatMap(({ headers = {} }) => Object.keys(headers))),
      ]
        .join(', ')
        .toLowerCase(),
    }
    return (request, respond) => {
      if (this.#stopping.signal.aborted && !mayStillCall(request)) return respond(STOPPING)
      this.#underWay += 1
      perform(performing, request, (reply) => {
        this.#countAnswer(reply)
        respond(reply)
      })
    }
  }

  #countAnswer({ status }: HttpReply): void {
    const digit = Math.floor(status / 100)
    this.#answered[digit] = (this.#answered[digit] ?? 0) + 1
    this.#underWay -= 1
    if (this.#underWay === 0) this.#onIdle?.()
  }
}

const STOPPING = refuse(
  new HttpRefusal('STOPPING', 'the server stops; try again in a moment.', { connection: 'close' }),
)

/** A worker that has done its work may say so until the end. */
function mayStillCall({ path }: HttpRequest): boolean {
  return path.endsWith('/leases:settle') || path.endsWith('/healthz')
}

export function serve(options: ServeOptions): HttpServer {
  return new HttpServer(options)
}
