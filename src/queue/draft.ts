/** From what `produce` is given to a message: everything that can be said without asking the store or a schema. */
import { encodePayload } from '../core/encoding/codec.ts'
import { UsageError } from '../core/errors.ts'
import { makeId } from '../core/encoding/id.ts'
import { checkTopic } from '../core/message.ts'
import { parseProduce } from '../core/input/request.ts'
import type { Draft } from '../runtime/producer.ts'
import type { Settings } from './settings.ts'

export function makeDraft(settings: Settings, topic: unknown, payload: unknown, options: unknown): Draft {
  const { clock, random, payloadLimit } = settings
  const now = clock.now()
  const { id, when, ifExists, latestMs, priority, tags, meta } = parseProduce(options, now)
  return {
    message: {
      id: id ?? makeId(now, random.next(), random.next()),
      topic: checkDeclared(settings, topic),
      body: encodePayload(payload, payloadLimit),
      meta,
      priority,
      when,
      ...(tags.length === 0 ? {} : { tags }),
      ifExists: ifExists === 'replace' ? 'replace' : 'keep',
      ...(latestMs === undefined ? {} : { latestMs }),
    },
    ifExists,
    hasOwnId: id !== undefined,
  }
}

/** A topic that may be used: where topics are declared, one of those. */
export function checkDeclared({ schemas }: Settings, value: unknown): string {
  const topic = checkTopic(value)
  if (schemas === undefined || schemas.has(topic)) return topic
  throw new UsageError(
    'TOPIC_UNKNOWN',
    `"${topic}" is not declared; there are: ${[...schemas.keys()].join(', ')}.`,
    { value },
  )
}
