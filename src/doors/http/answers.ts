/**
 * Answers that many ask for at once: each question is put to the store at most once in its time, whoever asks. What
 * fails is not kept.
 */
import type { Clock } from '../../clock.ts'

type KeptAnswer = { readonly at: number; readonly answer: Promise<unknown> }

const QUESTIONS_MAX = 500

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

  #forgetFirst(): void {
    const [first] = this.#kept.keys()
    if (first !== undefined) this.#kept.delete(first)
  }
}
