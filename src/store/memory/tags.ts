/**
 * Which messages have a tag, in the order in which they were produced.
 *
 *   order-42   [ order 17 -> slot 3 | order 20 -> left | order 58 -> slot 9 ]
 *
 * A message that leaves is marked, and a list that is mostly marks is written anew. The produce order of an entry never
 * changes, so that a walk finds its place again whatever left meanwhile. Messages without tags are not here; what a
 * successor adds leads to the message that it waits for, in an order of its own.
 *
 * Cost: O(log n) for each tag of a message, n being how many have that tag.
 */
const LEFT = -1
/** Below this a list is not worth writing anew. */
const SMALL = 32

type TagList = { readonly orders: number[]; readonly slots: number[]; left: number }

export class TagIndex {
  readonly #lists = new Map<string, TagList>()

  /** `order` is greater than that of every message so far. */
  add(tags: readonly string[], slot: number, order: number): void {
    for (const tag of tags) {
      let list = this.#lists.get(tag)
      if (list === undefined) this.#lists.set(tag, (list = { orders: [], slots: [], left: 0 }))
      list.orders.push(order)
      list.slots.push(slot)
    }
  }

  remove(tags: readonly string[], order: number): void {
    for (const tag of tags) {
      const list = this.#lists.get(tag)
      if (list === undefined) continue
      list.slots[placeOf(list.orders, order)] = LEFT
      list.left += 1
      if (list.left === list.slots.length) this.#lists.delete(tag)
      else if (list.left > SMALL && list.left > list.slots.length / 2) this.#lists.set(tag, withoutLeft(list))
    }
  }

  /** The slots from a produce order on, each with the order by which it is found. */
  *slots(tag: string, fromOrder: number): Generator<readonly [slot: number, order: number]> {
    const list = this.#lists.get(tag)
    if (list === undefined) return
    for (let place = placeOf(list.orders, fromOrder); place < list.slots.length; place += 1) {
      const slot = list.slots[place] as number
      if (slot !== LEFT) yield [slot, list.orders[place] as number]
    }
  }
}

function withoutLeft({ orders, slots }: TagList): TagList {
  const isThere = (_: number, place: number): boolean => slots[place] !== LEFT
  return { orders: orders.filter(isThere), slots: slots.filter(isThere), left: 0 }
}

/** The first place with this produce order or a later one. */
function placeOf(orders: readonly number[], order: number): number {
  let [low, high] = [0, orders.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((orders[middle] as number) < order) low = middle + 1
    else high = middle
  }
  return low
}
