/** Tokens that are bound to a topic prefix: what they may touch. */
import { HttpRefusal } from '../wire/problem.ts'
import { mayUseTopic, type Caller } from './caller.ts'
import type { HttpCall } from '../table/route.ts'

/** `undefined` stands for every topic, which such a token may not have. */
export function checkTopics(who: Caller, topics: readonly (string | undefined)[]): void {
  const { topicPrefix } = who
  if (topicPrefix === undefined) return
  if (topics.length > 0 && topics.every((topic) => topic !== undefined && mayUseTopic(who, topic))) return
  throw new HttpRefusal(
    'FORBIDDEN',
    `this token is for topics that begin with "${topicPrefix}"; name one of them.`,
  )
}

/**
 * The same for a message that is named by its id. One that is not there is none of anybody's. Answers its topic, where it had
 * to look: for a token that is bound to no prefix there is nothing to check.
 */
export async function checkTopicOf({ who, served }: HttpCall, id: string): Promise<string | undefined> {
  if (who.topicPrefix === undefined) return undefined
  const store = await served.open()
  const [found] = (await store.inspect({ ids: [id] })).items
  if (found !== undefined) checkTopics(who, [found.topic])
  return found?.topic
}
