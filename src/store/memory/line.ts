/**
 * The messages of one topic and priority that are due, earliest first: a binary heap by (dueAt, order).
 *
 * Messages leave the line also by being cancelled or rescheduled. Those stay in the heap as ghosts, recognised
 * when they reach the top: `isAlive` compares what the table says now with what was pushed.
 *
 * Cost: push O(1) for messages in order, which they mostly are; pop O(log n).
 */
export class ReadyLine {
  readonly #isAlive: (slot: number, dueAt: number, order: number) => boolean
  readonly #slots: number[] = []
  readonly #dueAt: number[] = []
  readonly #order: number[] = []

  constructor(isAlive: (slot: number, dueAt: number, order: number) => boolean) {
    this.#isAlive = isAlive
  }

  push(slot: number, dueAt: number, order: number): void {
    let hole = this.#slots.length
    while (hole > 0) {
      const parent = (hole - 1) >> 1
      if (!this.#isBefore(dueAt, order, parent)) break
      this.#move(parent, hole)
      hole = parent
    }
    this.#write(hole, slot, dueAt, order)
  }

  /** With those that left and are not yet recognised. */
  get size(): number {
    return this.#slots.length
  }

  clear(): void {
    this.#slots.length = 0
    this.#dueAt.length = 0
    this.#order.length = 0
  }

  /** The moment of the first message, without taking it. */
  firstDueAt(): number | undefined {
    this.#dropGhosts()
    return this.#dueAt[0]
  }

  isEmpty(): boolean {
    return this.firstDueAt() === undefined
  }

  /** The slot of the first message, without taking it. */
  first(): number | undefined {
    this.#dropGhosts()
    return this.#slots[0]
  }

  pop(): number | undefined {
    const slot = this.first()
    if (slot !== undefined) this.#removeTop()
    return slot
  }

  #dropGhosts(): void {
    while (this.#slots.length > 0) {
      if (this.#isAlive(this.#slots[0] as number, this.#dueAt[0] as number, this.#order[0] as number)) return
      this.#removeTop()
    }
  }

  #removeTop(): void {
    const slot = this.#slots.pop() as number
    const dueAt = this.#dueAt.pop() as number
    const order = this.#order.pop() as number
    const size = this.#slots.length
    if (size === 0) return
    let hole = 0
    for (;;) {
      let child = hole * 2 + 1
      if (child >= size) break
      if (
        child + 1 < size &&
        this.#isBefore(this.#dueAt[child + 1] as number, this.#order[child + 1] as number, child)
      ) {
        child += 1
      }
      if (this.#isBefore(dueAt, order, child)) break
      this.#move(child, hole)
      hole = child
    }
    this.#write(hole, slot, dueAt, order)
  }

  #isBefore(dueAt: number, order: number, index: number): boolean {
    const other = this.#dueAt[index] as number
    return dueAt < other || (dueAt === other && order < (this.#order[index] as number))
  }

  #move(from: number, to: number): void {
    this.#write(to, this.#slots[from] as number, this.#dueAt[from] as number, this.#order[from] as number)
  }

  #write(index: number, slot: number, dueAt: number, order: number): void {
    this.#slots[index] = slot
    this.#dueAt[index] = dueAt
    this.#order[index] = order
  }
}
