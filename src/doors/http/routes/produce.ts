/**
 * Producing over HTTP. Two forms: a message as JSON, or the payload alone with everything else in headers; then its bytes
 * are stored as they came, so that numbers beyond 2^53 survive.
 *
 * The id makes a call safe to repeat. PUT has it in the path, and `Idempotency-Key` becomes it; both keep it taken for a day
 * after the message is done, so that a repeated call does not run it again.
 */
import { parseTrace, type TraceOrigin } from '../../../core/encoding/trace.ts'
import { checkId } from '../../../core/message.ts'
import { PunctualError } from '../../../index.ts'
import { checkSchema, makeDraft, withOrigin } from '../../../queue/draft.ts'
import { CallError } from '../../shared/failure.ts'
import { isJsonType, parseJson } from '../wire/request.ts'
import { HttpRefusal } from '../wire/problem.ts'
import { defineRoute, json, type HttpCall, type HttpReply } from '../table/route.ts'
import { checkQuery, type Checked } from '../schema/schema.ts'
import { checkTopicOf, checkTopics } from '../access/topics.ts'
import { MESSAGE_FIELDS, PRODUCE, PRODUCED } from './shapes.ts'

type ProduceBody = Checked<typeof PRODUCE>
type ProducedDraft = ReturnType<typeof makeDraft>

/** A message as it was asked for. `text`: the payload as it came, when it came alone. */
type AskedMessage = { readonly body: ProduceBody; readonly text?: string }

const REMEMBER_DEFAULT = '24h'

export const PRODUCE_ROUTES = [
  defineRoute({
    method: 'POST',
    path: '/v1/queues/{queue}/messages',
    scope: 'produce',
    summary: 'store a message until its moment',
    body: PRODUCE,
    bodyKind: 'raw',
    answers: { 200: PRODUCED, 201: PRODUCED },
    topics: 'checked',
    handle: async (call) => {
      const asked = await readAsked(call)
      const key = call.request.header('idempotency-key')
      const id = asked.body.id ?? key
      return produce(call, asked, id === undefined ? {} : { id, isRemembered: key !== undefined })
    },
  }),
  defineRoute({
    method: 'PUT',
    path: '/v1/queues/{queue}/messages/{id}',
    scope: 'produce',
    summary: 'store a message under your own id; safe to repeat',
    body: PRODUCE,
    bodyKind: 'raw',
    answers: { 200: PRODUCED, 201: PRODUCED },
    refusals: ['PRECONDITION_FAILED', 'IF_MATCH'],
    topics: 'checked',
    handle: async (call) => {
      const { id = '' } = call.params
      const asked = await readAsked(call)
      if (asked.body.id !== undefined && asked.body.id !== id)
        throw new CallError('the id in the body is another than in the path; leave it out.')
      if (call.request.header('if-match') !== undefined)
        throw new HttpRefusal(
          'IF_MATCH',
          'If-Match is not supported; use ifExists "keep", "replace" or "fail".',
        )
      const isNew = call.request.header('if-none-match') === '*'
      return produce(call, asked, { id, isRemembered: true, isNew })
    },
  }),
]

type IdRules = { readonly id?: string; readonly isRemembered?: boolean; readonly isNew?: boolean }

async function produce(call: HttpCall, { body, text }: AskedMessage, rules: IdRules): Promise<HttpReply> {
  const { served, server, who, params } = call
  const { topic, payload, id: _, ...options } = body
  checkTopics(who, [topic])
  const { id, isRemembered, isNew } = rules
  if (id !== undefined && options.ifExists === 'replace') await checkTopicOf(call, checkId(id))
  const made = makeDraft(served.settings, topic, text === undefined ? payload : undefined, {
    ...options,
    ...(id === undefined ? {} : { id }),
    ...(isRemembered === true && options.remember === undefined ? { remember: REMEMBER_DEFAULT } : {}),
    ...(isNew === true ? { ifExists: 'fail' } : {}),
  })
  const draft = withOrigin(made, originOf(call))
  const whole = text === undefined ? draft : withText(draft, text)
  if (served.settings.schemas !== undefined) await checkSchema(served.settings, whole.message)
  const producer = await served.openProducer()
  try {
    const produced = await producer.produceOne(whole)
    const location = `${server.basePath}/v1/queues/${encodeURIComponent(params.queue ?? '')}/messages/${encodeURIComponent(produced.id)}`
    return json(produced.outcome === 'stored' ? 201 : 200, produced, { location })
  } catch (error) {
    if (isNew === true && error instanceof PunctualError && error.code === 'ID_EXISTS')
      throw new HttpRefusal('PRECONDITION_FAILED', error.message)
    throw error
  }
}

/** The caller's trace, carried with the message: whoever works on it may link to it. */
export function originOf({ request }: HttpCall): TraceOrigin | undefined {
  return parseTrace(request.header('traceparent'), request.header('tracestate'))
}

function withText(draft: ProducedDraft, text: string): ProducedDraft {
  return { ...draft, message: { ...draft.message, body: text } }
}

async function readAsked({ request, served, server }: HttpCall): Promise<AskedMessage> {
  if (!isJsonType(request.header('content-type')))
    throw new HttpRefusal('MEDIA_TYPE', 'send the body as content-type: application/json.')
  const topic = request.header('punctual-topic')
  if (topic === undefined) {
    const text = await request.readBody(served.payloadLimit + server.limits.envelopeBytes)
    return { body: PRODUCE.check(parseJson(text), '') }
  }
  const text = await request.readBody(served.payloadLimit)
  if (text !== '') parseJson(text) // Well-formed; kept as it is.
  return { body: { ...optionsFromHeaders(request.header), topic: decodeHeader(topic) }, text }
}

/** `Punctual-If-Exists: replace`, and so on for every option but `retry`. */
function optionsFromHeaders(header: (name: string) => string | undefined): Partial<ProduceBody> {
  const given = new URLSearchParams()
  for (const name of Object.keys(HEADER_FIELDS)) {
    const value = header(`punctual-${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`)
    if (value !== undefined) given.set(name, decodeHeader(value))
  }
  return checkQuery(HEADER_FIELDS, given)
}

const { retry: _retry, ...HEADER_FIELDS } = MESSAGE_FIELDS

/** Headers are ASCII: other characters come percent-encoded. */
function decodeHeader(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}
