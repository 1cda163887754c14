/**
 * Producing over HTTP. Two forms: a message as JSON, or the payload alone with everything else in headers; then its bytes
 * are stored as they came, so that numbers beyond 2^53 survive.
 *
 * The id makes a call safe to repeat. PUT has it in the path, and `Idempotency-Key` becomes it; both keep it taken for a day
 * after the message is done, so that a repeated call does not run it again.
 */
import { segmentOf } from '../../../core/encoding/segment.ts'
import { parseTrace, type TraceOrigin } from '../../../core/encoding/trace.ts'
import { checkId } from '../../../core/input/names.ts'
import { PunctualError } from '../../../index.ts'
import { checkSchema, makeDraft, withOrigin } from '../../../queue/draft.ts'
import { CallError } from '../../shared/failure.ts'
import { asciiHeader, headerText, isJsonType, parseJson, type HttpRequest } from '../wire/request.ts'
import { HttpRefusal } from '../wire/problem.ts'
import { defineRoute, json, type HttpCall, type HttpReply } from '../table/route.ts'
import { checkQuery, literal, text as anyText, type Checked } from '../schema/schema.ts'
import { checkTopicOf, checkTopics } from '../access/topics.ts'
import { MESSAGE_FIELDS, PRODUCE, PRODUCED } from './shapes.ts'

type ProduceBody = Checked<typeof PRODUCE>
type ProducedDraft = ReturnType<typeof makeDraft>

/** A message as it was asked for. `text`: the payload as it came, when it came alone. */
type AskedMessage = { readonly body: ProduceBody; readonly text?: string }

/** A day. */
const REMEMBER_MS = 86_400_000

const { retry: _retry, ...HEADER_FIELDS } = MESSAGE_FIELDS

/** `ifExists` as `Punctual-If-Exists`. */
function headerName(field: string): string {
  return `Punctual-${field.replace(/^[a-z]|[A-Z]/g, (letter, at: number) => (at === 0 ? '' : '-') + letter.toUpperCase())}`
}

/** Everything about a message whose payload is the body. */
const MESSAGE_HEADERS = {
  'Punctual-Topic': anyText({ about: 'the body is the payload alone, kept byte by byte' }),
  ...Object.fromEntries(Object.entries(HEADER_FIELDS).map(([name, shape]) => [headerName(name), shape])),
  traceparent: anyText({ about: 'kept with the message: who works on it may link to it' }),
  tracestate: anyText(),
}

export const PRODUCE_ROUTES = [
  defineRoute({
    method: 'POST',
    path: '/v1/queues/{queue}/messages',
    operation: 'produceMessage',
    scope: 'produce',
    summary: 'store a message until its moment',
    headers: {
      'Idempotency-Key': anyText({ about: 'becomes the id; not beside an id' }),
      ...MESSAGE_HEADERS,
    },
    body: PRODUCE,
    bodyKind: 'raw',
    answers: { 200: PRODUCED, 201: PRODUCED },
    answerHeaders: ['Location'],
    topics: 'checked',
    handle: (call) =>
      produce(call, ({ id }) => {
        const key = asciiHeader(call.request, 'idempotency-key')
        if (key !== undefined && id !== undefined)
          throw new CallError('Idempotency-Key becomes the id, and the call has an id; give one of them.')
        return { id: id ?? key, isRemembered: key !== undefined, isNew: false }
      }),
  }),
  defineRoute({
    method: 'PUT',
    path: '/v1/queues/{queue}/messages/{id}',
    operation: 'putMessage',
    scope: 'produce',
    summary: 'store a message under your own id; safe to repeat',
    headers: { 'If-None-Match': literal('*'), ...MESSAGE_HEADERS },
    body: PRODUCE,
    bodyKind: 'raw',
    answers: { 200: PRODUCED, 201: PRODUCED },
    answerHeaders: ['Location'],
    refusals: ['PRECONDITION_FAILED', 'IF_MATCH'],
    topics: 'checked',
    handle: (call) =>
      produce(call, (body) => {
        const { id = '' } = call.params
        if (body.id !== undefined && body.id !== id)
          throw new CallError('the id in the body is another than in the path; leave it out.')
        if (call.request.header('if-match') !== undefined)
          throw new HttpRefusal(
            'IF_MATCH',
            'If-Match is not supported; use ifExists "keep", "replace" or "fail".',
          )
        return { id, isRemembered: true, isNew: call.request.header('if-none-match') === '*' }
      }),
  }),
]

type IdRules = { readonly id: string | undefined; readonly isRemembered: boolean; readonly isNew: boolean }

/** One function from the body to the answer: it waits for the body and for the store, and for nothing else. */
async function produce(call: HttpCall, rulesFor: (body: ProduceBody) => IdRules): Promise<HttpReply> {
  const { request, served, server } = call
  const { settings, payloadLimit } = served
  if (!isJsonType(request.header('content-type')))
    throw new HttpRefusal('MEDIA_TYPE', 'send the body as content-type: application/json.')
  const topic = headerText(request, 'punctual-topic')
  const bytesMax = topic === undefined ? payloadLimit + server.limits.envelopeBytes : payloadLimit
  const sent = await request.readBody(bytesMax)
  const asked = topic === undefined ? parseMessage(sent) : parsePayload(request, topic, sent)
  const rules = rulesFor(asked.body)
  if (rules.id !== undefined && asked.body.ifExists === 'replace') await checkTopicOf(call, checkId(rules.id))
  const draft = draftOf(call, asked, rules)
  if (settings.schemas !== undefined) await checkSchema(settings, draft.message)
  const producer = served.producer ?? (await served.openProducer())
  try {
    const produced = await producer.produceOne(draft)
    const location = `${server.basePath}${served.path}/messages/${segmentOf(produced.id)}`
    return json(produced.outcome === 'stored' ? 201 : 200, produced, { location })
  } catch (error) {
    if (rules.isNew && error instanceof PunctualError && error.code === 'ID_EXISTS')
      throw new HttpRefusal('PRECONDITION_FAILED', error.message)
    throw error
  }
}

function draftOf(
  call: HttpCall,
  { body, text }: AskedMessage,
  { id, isRemembered, isNew }: IdRules,
): ProducedDraft {
  const { served, who } = call
  const { topic, payload, id: _, ...rest } = body
  if (who.topicPrefix !== undefined) checkTopics(who, [topic])
  const options: { -readonly [K in keyof ProduceBody]?: ProduceBody[K] } = rest
  if (id !== undefined) options.id = id
  if (isRemembered) options.remember ??= REMEMBER_MS
  if (isNew) options.ifExists = 'fail'
  const made = makeDraft(served.settings, topic, text === undefined ? payload : undefined, options)
  const draft = withOrigin(made, originOf(call))
  return text === undefined ? draft : withText(draft, text)
}

/** The caller's trace, carried with the message: its worker may link to it. */
export function originOf({ request }: HttpCall): TraceOrigin | undefined {
  return parseTrace(request.header('traceparent'), request.header('tracestate'))
}

function withText(draft: ProducedDraft, text: string): ProducedDraft {
  return { ...draft, message: { ...draft.message, body: text } }
}

function parseMessage(sent: string): AskedMessage {
  return { body: PRODUCE.check(parseJson(sent), '') }
}

function parsePayload(request: HttpRequest, topic: string, sent: string): AskedMessage {
  if (sent !== '') parseJson(sent) // Well-formed; kept as it is.
  return { body: { ...optionsFromHeaders(request), topic }, text: sent }
}

/** `Punctual-If-Exists: replace`, and so on for every option but `retry`. */
function optionsFromHeaders(request: HttpRequest): Partial<ProduceBody> {
  const given = new URLSearchParams()
  for (const name of Object.keys(HEADER_FIELDS)) {
    const value = headerText(request, headerName(name).toLowerCase())
    if (value !== undefined) given.set(name, value)
  }
  return checkQuery(HEADER_FIELDS, given)
}
