/**
 * Answers that many ask for at once: each question is put to the store at most once in its time, however many ask. What
 * fails is not kept. When somebody acts, all are forgotten, so that everybody sees what it did.
 */
import type { Clock } from '../../clock.ts'
import type { HttpCall, HttpReply } from './table/route.ts'
import { tagged } from './wire/tagged.ts'

type KeptAnswer = { readonly at: number; readonly answer: Promise<unknown> }

const QUESTIONS_MAX = 500

/** All pages ask again at a beat of the live events, every five seconds: one that is late gets what the others got. */
export const PAGES_KEPT_MS = 4_000

export class Answers {
  readonly #clock: Clock
  readonly #kept = new Map<string, KeptAnswer>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  async get<T>(question: string, keptMs: number, ask: () => Promise<T>): Promise<T> {
    const now = this.#clock.monotonic()
    const known = this.#kept.get(question)
    if (known !== undefined && now - known.at < keptMs) return (await known.answer) as T
    const answer = ask()
    this.#kept.delete(question) // So that it stands last.
    this.#kept.set(question, { at: now, answer })
    if (this.#kept.size > QUESTIONS_MAX) this.#forgetFirst()
    answer.catch(() => {
      if (this.#kept.get(question)?.answer === answer) this.#kept.delete(question)
    })
    return answer
  }

  forgetAll(): void {
    this.#kept.clear()
  }

  #forgetFirst(): void {
    const [first] = this.#kept.keys()
    if (first !== undefined) this.#kept.delete(first)
  }
}

/** The same question about the same topics within this time gets the same answer: who may not have it was refused before. */
export async function shareAnswer(
  { request, served, who }: HttpCall,
  keptMs: number,
  ask: () => Promise<unknown>,
): Promise<HttpReply> {
  const question = `${who.topicPrefix ?? ''} ${request.path}?${request.search}`
  return tagged(request, await served.answers.get(question, keptMs, async () => JSON.stringify(await ask())))
}
