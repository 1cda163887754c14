/**
 * Many messages in one call. An array is one thing: all are checked before any is stored, and one answer tells of each. JSON
 * lines are a stream: each line is checked, stored and answered for itself while the rest is still on its way, so that a call
 * of many megabytes takes little memory here and there.
 */
import { UsageError } from '../../../core/errors.ts'
import { PunctualError } from '../../../index.ts'
import { checkSchema, makeDraft, withOrigin } from '../../../queue/draft.ts'
import { decodeText } from '../../../core/encoding/utf8.ts'
import { CallError } from '../../shared/failure.ts'
import { isBlank, linesIn } from '../../shared/lines.ts'
import { tokenGone } from '../access/access.ts'
import { checkTopicOf, checkTopics } from '../access/topics.ts'
import { either, list, object, whole, type Checked } from '../schema/schema.ts'
import { defineRoute, json, type HttpCall, type HttpReply, type ReplyStream } from '../table/route.ts'
import { HttpRefusal, PROBLEM, PROBLEM_FIELDS, problemOf, type Problem } from '../wire/problem.ts'
import { isJsonType, parseJson } from '../wire/request.ts'
import { originOf } from './produce.ts'
import { PRODUCE, PRODUCED, PRODUCED_FIELDS } from './shapes.ts'

type BatchDraft = ReturnType<typeof makeDraft>
type ProducedOne = Checked<typeof PRODUCED>

const LINES_TYPE = /^application\/(?:x-)?(?:ndjson|jsonl)\s*(?:;|$)/i

/** A client that sends all before it reads anything leaves so many answers waiting here: some megabytes. */
const LINES_MAX = 20_000

const LINE = { line: whole({ min: 1 }) }

export const BATCH_ROUTES = [
  defineRoute({
    method: 'POST',
    path: '/v1/queues/{queue}/messages:batch',
    operation: 'produceMessages',
    scope: 'produce',
    summary:
      'many messages at once: an array, all checked before any is stored; or JSON lines, each stored and answered for itself',
    body: list(PRODUCE, { max: 1_000 }),
    bodyKind: 'raw',
    answers: { 200: object({ results: list(either(PRODUCED, PROBLEM)) }) },
    lines: {
      asked: PRODUCE,
      answered: either(
        object({ ...LINE, ...PRODUCED_FIELDS }),
        object({ ...LINE, ...PROBLEM_FIELDS }),
        object({ lines: whole({ min: 0 }), stored: whole({ min: 0 }) }),
      ),
    },
    topics: 'checked',
    handle: (call) => {
      const type = call.request.header('content-type') ?? ''
      if (LINES_TYPE.test(type)) return answerLines(call)
      if (isJsonType(type)) return produceArray(call)
      throw new HttpRefusal('MEDIA_TYPE', 'send application/json or application/x-ndjson.')
    },
  }),
]

async function produceArray(call: HttpCall): Promise<HttpReply> {
  const { request, served, server, who } = call
  const entries = parseJson(await request.readBody(server.limits.batchBytes))
  if (!Array.isArray(entries)) throw new CallError('the body is no array of messages.')
  if (entries.length > server.limits.batchEntries)
    throw new HttpRefusal(
      'BODY_TOO_LARGE',
      `${entries.length} messages in one call; allowed: ${server.limits.batchEntries}; send more as JSON lines.`,
    )
  if (entries.length === 0) checkTopics(who, [undefined])
  const drafts: BatchDraft[] = []
  for (const [i, entry] of entries.entries())
    drafts.push(await inPlace(i, () => draftOf(call, entry, `message ${i}`)))
  const results = await (await served.openProducer()).produceEach(drafts)
  return json(200, {
    results: results.map((result) => (result instanceof Error ? problemOf(result) : result)),
  })
}

async function draftOf(call: HttpCall, entry: unknown, at: string): Promise<BatchDraft> {
  const { served, who } = call
  const { topic, payload, ...options } = PRODUCE.check(entry, at)
  checkTopics(who, [topic])
  if (options.id !== undefined && options.ifExists === 'replace') await checkTopicOf(call, options.id)
  const draft = withOrigin(makeDraft(served.settings, topic, payload, options), originOf(call))
  if (served.settings.schemas !== undefined) await checkSchema(served.settings, draft.message)
  return draft
}

/** Says which of many is wrong. */
async function inPlace<T>(i: number, make: () => Promise<T>): Promise<T> {
  try {
    return await make()
  } catch (error) {
    if (error instanceof PunctualError)
      throw new UsageError(error.code, `message ${i}: ${error.message}`, { cause: error })
    throw error
  }
}

function answerLines(call: HttpCall): HttpReply {
  return {
    status: 200,
    headers: { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' },
    stream: (out) => void new LineBatch(call, out).run(),
  }
}

/** Never rejects: what goes wrong is the last line of the answer. */
class LineBatch {
  readonly #call: HttpCall
  readonly #out: ReplyStream
  #lines = 0
  /** The last line that was answered. */
  #told = 0
  #stored = 0

  constructor(call: HttpCall, out: ReplyStream) {
    this.#call = call
    this.#out = out
  }

  async run(): Promise<void> {
    const { request, served, server, who } = this.#call
    const token = server.access.openCall(request, who)
    try {
      const lineBytesMax = served.payloadLimit + server.limits.envelopeBytes
      const tooLong = (): HttpRefusal =>
        new HttpRefusal('BODY_TOO_LARGE', `a line has more than ${lineBytesMax} bytes.`)
      for await (const lines of linesIn(request.chunks(), { lineBytesMax, tooLong })) {
        if (token.isOver()) throw tokenGone()
        await this.#store(lines)
        if (server.stopping.aborted)
          throw new HttpRefusal('STOPPING', 'the server stops; send the rest again.')
        if (this.#lines >= LINES_MAX)
          throw new HttpRefusal('BODY_TOO_LARGE', `${LINES_MAX} lines in one call; send the rest in another.`)
        if (this.#out.closed.aborted) return
      }
      this.#write({ lines: this.#lines, stored: this.#stored })
    } catch (error) {
      // Whatever comes after the last answer is not stored, or not known to be.
      this.#write({ line: this.#told + 1, ...problemOf(error) })
    } finally {
      this.#out.end()
    }
  }

  /** Lines that came together go to the store together. Rejects when that did not answer. */
  async #store(lines: readonly Uint8Array[]): Promise<void> {
    const found: { readonly line: number; readonly draft: BatchDraft | Problem }[] = []
    for (const bytes of lines) {
      this.#lines += 1
      if (!isBlank(bytes)) found.push({ line: this.#lines, draft: await this.#check(bytes) })
    }
    const drafts = found.flatMap(({ draft }) => (isDraft(draft) ? [draft] : []))
    const results = await this.#produce(drafts)
    for (const { line, draft } of found) {
      const result = isDraft(draft) ? results.shift() : draft
      if (result !== undefined && 'outcome' in result) this.#stored += result.outcome === 'kept' ? 0 : 1
      this.#write({ line, ...result })
    }
    this.#told = this.#lines
  }

  async #check(bytes: Uint8Array): Promise<BatchDraft | Problem> {
    try {
      return await draftOf(this.#call, parseJson(decodeText(bytes, 'the line')), '')
    } catch (error) {
      return problemOf(error)
    }
  }

  async #produce(drafts: readonly BatchDraft[]): Promise<(ProducedOne | Problem)[]> {
    if (drafts.length === 0) return []
    const results = await (await this.#call.served.openProducer()).produceEach(drafts)
    return results.map((result) => (result instanceof Error ? problemOf(result) : result))
  }

  #write(answer: object): void {
    this.#out.write(`${JSON.stringify(answer)}\n`)
  }
}

function isDraft(value: BatchDraft | Problem): value is BatchDraft {
  return 'message' in value
}
