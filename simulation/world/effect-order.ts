/**
 * Enters calls in the ledger in the order in which they took effect. The answers can arrive in another one: a `put` in
 * the same process wakes a worker, whose claim is answered before the put is.
 */
type Entry = { enter: (() => void) | undefined }

export class EffectOrder {
  /** Calls that took effect and are not entered, in order. One without `enter` has no answer yet. */
  readonly #open: Entry[] = []

  /** `call` takes effect before it returns its promise. Resolves when it is entered, and all before it. */
  run<T>(call: () => Promise<T>, enter: (reply: T) => void): Promise<T> {
    const entry: Entry = { enter: undefined }
    this.#open.push(entry)
    return new Promise((resolve, reject) => {
      call().then(
        (reply) => {
          entry.enter = () => {
            enter(reply)
            resolve(reply)
          }
          this.#advance()
        },
        (error: unknown) => {
          entry.enter = () => reject(error instanceof Error ? error : new Error(String(error)))
          this.#advance()
        },
      )
    })
  }

  #advance(): void {
    for (let first = this.#open[0]; first?.enter !== undefined; first = this.#open[0]) {
      this.#open.shift()
      first.enter()
    }
  }
}
