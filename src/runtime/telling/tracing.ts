/**
 * Traces, where the application has `@opentelemetry/api`; without it there are none, and nothing is spent on them.
 *
 *   send order.close ──(48 hours)──► process order.close
 *        a span of the producer's trace   a trace of its own, with a link to it
 *
 * A trace that waits for days is of no help, and collectors close it after minutes: so each attempt begins a new one. Names
 * and attributes follow the messaging conventions of OpenTelemetry.
 */
import { createRequire } from 'node:module'
import type * as Api from '@opentelemetry/api'
import { parseTrace, type TraceOrigin } from '../../core/encoding/trace.ts'
import { Snooze } from '../../core/machines/outcome.ts'
import { VERSION } from '../../core/version.ts'

/** Many may have several topics. */
export type ProducedMessages = { readonly topic?: string; readonly count?: number }

export type HandledMessage = {
  readonly id: string
  readonly topic: string
  readonly attempt: number
  readonly latenessMs: number
}

export interface Tracing {
  /** The span that is active now: messages that are made inside it come from there. */
  origin(): TraceOrigin | undefined
  /** A span around `send`, which answers with ids. */
  producing<T extends string | readonly string[]>(about: ProducedMessages, send: () => Promise<T>): Promise<T>
  /** A span around one attempt; what the handler does is inside it. `origin`: of the message. */
  handling(message: HandledMessage, origin: TraceOrigin | undefined, handle: () => unknown): unknown
}

/** Undefined: the application has no OpenTelemetry. */
export function loadTracing(queue: string): Tracing | undefined {
  const api = loadApi()
  return api === undefined ? undefined : new OpenTelemetryTracing(api, queue)
}

let loaded: typeof Api | false | undefined

/** By `require`, because the first `produce` must know at once. Both forms of the package share what is registered. */
function loadApi(): typeof Api | undefined {
  if (loaded === undefined) {
    try {
      loaded = createRequire(import.meta.url)('@opentelemetry/api') as typeof Api
    } catch {
      loaded = false
    }
  }
  return loaded === false ? undefined : loaded
}

class OpenTelemetryTracing implements Tracing {
  readonly #api: typeof Api
  readonly #queue: string
  readonly #unregistered: Api.TracerProvider

  constructor(api: typeof Api, queue: string) {
    this.#api = api
    this.#unregistered = new api.ProxyTracerProvider().getDelegate()
    this.#queue = queue
  }

  origin(): TraceOrigin | undefined {
    if (this.#isIdle) return undefined
    const { trace, isSpanContextValid } = this.#api
    const span = trace.getActiveSpan()?.spanContext()
    if (span === undefined || !isSpanContextValid(span)) return undefined
    const flags = span.traceFlags.toString(16).padStart(2, '0')
    return parseTrace(`00-${span.traceId}-${span.spanId}-${flags}`, span.traceState?.serialize())
  }

  producing<T extends string | readonly string[]>(
    { topic, count }: ProducedMessages,
    send: () => Promise<T>,
  ): Promise<T> {
    if (this.#isIdle) return send()
    const { context, trace, SpanKind } = this.#api
    const span = this.#tracer.startSpan(topic === undefined ? 'send' : `send ${topic}`, {
      kind: SpanKind.PRODUCER,
      attributes: {
        ...this.#attributes('send', topic),
        ...(count === undefined ? {} : { 'messaging.batch.message_count': count }),
      },
    })
    const sending = context.with(trace.setSpan(context.active(), span), send)
    sending.then(
      (ids) => {
        if (typeof ids === 'string') span.setAttribute('messaging.message.id', ids)
        span.end()
      },
      (error: unknown) => this.#fail(span, error),
    )
    return sending
  }

  handling(message: HandledMessage, origin: TraceOrigin | undefined, handle: () => unknown): unknown {
    if (this.#isIdle) return handle()
    const { context, trace, SpanKind, ROOT_CONTEXT } = this.#api
    const { id, topic, attempt, latenessMs } = message
    const span = this.#tracer.startSpan(
      `process ${topic}`,
      {
        kind: SpanKind.CONSUMER,
        root: true,
        links: this.#links(origin),
        attributes: {
          ...this.#attributes('process', topic),
          'messaging.message.id': id,
          'punctual.attempt': attempt,
          'punctual.lateness_ms': latenessMs,
        },
      },
      ROOT_CONTEXT,
    )
    let result: unknown
    try {
      result = context.with(trace.setSpan(ROOT_CONTEXT, span), handle)
    } catch (error) {
      this.#fail(span, error)
      throw error
    }
    if (typeof result !== 'object' || result === null || !('then' in result)) {
      span.end()
      return result
    }
    // Some promises of others begin their work with each `then`: this asks once, for us and for the caller.
    const ending = Promise.resolve(result)
    ending.then(
      () => span.end(),
      (error: unknown) => this.#fail(span, error),
    )
    return ending
  }

  /** The package is there, but nothing is registered that keeps spans. */
  get #isIdle(): boolean {
    const { trace, ProxyTracerProvider } = this.#api
    const provider = trace.getTracerProvider()
    return provider instanceof ProxyTracerProvider && provider.getDelegate() === this.#unregistered
  }

  /** Asked for each time: an application may register its own after it made its queue. */
  get #tracer(): Api.Tracer {
    return this.#api.trace.getTracer('punctual', VERSION)
  }

  #attributes(operation: 'send' | 'process', topic: string | undefined): Api.Attributes {
    return {
      'messaging.system': 'punctual',
      'messaging.operation.name': operation,
      'messaging.operation.type': operation,
      ...(topic === undefined ? {} : { 'messaging.destination.name': topic }),
      'punctual.queue': this.#queue,
    }
  }

  #links(origin: TraceOrigin | undefined): Api.Link[] {
    if (origin === undefined) return []
    const [, traceId = '', spanId = '', flags = ''] = origin.parent.split('-')
    const traceState =
      origin.state === undefined ? {} : { traceState: this.#api.createTraceState(origin.state) }
    return [{ context: { traceId, spanId, traceFlags: parseInt(flags, 16), isRemote: true, ...traceState } }]
  }

  /** A snooze is a wish, not a failure. */
  #fail(span: Api.Span, error: unknown): void {
    if (error instanceof Snooze) span.setAttribute('punctual.snoozed_ms', error.delayMs)
    else {
      const isError = error instanceof Error
      span.setAttribute('error.type', isError ? error.name : typeof error)
      span.recordException(isError ? error : String(error))
      span.setStatus({
        code: this.#api.SpanStatusCode.ERROR,
        message: isError ? error.message : String(error),
      })
    }
    span.end()
  }
}
