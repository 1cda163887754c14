/**
 * Wake-ups to other processes, sent after the commit of what they are about. At most one is under way: what comes
 * meanwhile is told together afterwards, so that a storm of writes makes a trickle of wake-ups. One that fails is dropped:
 * it is a hint, and sleepers look by themselves.
 */
export type Ring = {
  /** The earliest moment that it is about, in microseconds. */
  readonly at: number | undefined
  /** The owner that need not hear it; '' for none; a kind of its own as `shared/wanted-topics` writes it. */
  readonly giver: string
  /** None means all. */
  readonly topics: readonly string[]
}

const TOPICS_MAX = 200

export class Bell {
  readonly #send: (ring: Ring) => Promise<unknown>
  #next: Ring | undefined
  #isRinging = false

  constructor(send: (ring: Ring) => Promise<unknown>) {
    this.#send = send
  }

  ring(ring: Ring): void {
    this.#next = this.#next === undefined ? ring : together(this.#next, ring)
    if (!this.#isRinging) void this.#ringOn()
  }

  async #ringOn(): Promise<void> {
    this.#isRinging = true
    while (this.#next !== undefined) {
      const ring = this.#next
      this.#next = undefined
      await this.#send(ring).catch(() => undefined)
    }
    this.#isRinging = false
  }
}

function together(a: Ring, b: Ring): Ring {
  const told = [a, b].find(({ giver }) => giver.startsWith(' ')) // Of another kind than due: it covers the rest.
  if (told !== undefined) return told
  const topics =
    a.topics.length === 0 || b.topics.length === 0 ? [] : [...new Set([...a.topics, ...b.topics])]
  return {
    at: a.at === undefined || b.at === undefined ? undefined : Math.min(a.at, b.at),
    giver: a.giver === b.giver ? a.giver : '',
    topics: topics.length > TOPICS_MAX ? [] : topics,
  }
}
