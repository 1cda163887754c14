/** The number by which the tables know a queue. It gets one with its first write, and keeps it. */
export class QueueNumber {
  readonly #find: () => Promise<number | undefined>
  readonly #make: () => Promise<number>
  #number: number | undefined

  /** `make` answers with the number that is there where another process was faster. */
  constructor(find: () => Promise<number | undefined>, make: () => Promise<number>) {
    this.#find = find
    this.#make = make
  }

  async own(): Promise<number> {
    return (this.#number ??= await this.#make())
  }

  /** 0, which no message has, while nothing was ever written to the queue. */
  async known(): Promise<number> {
    this.#number ??= await this.#find()
    return this.#number ?? 0
  }
}
