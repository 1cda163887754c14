/**
 * Messages whose workers died are suspects: one of them may be what kills. So the more often one lapsed, the fewer of its
 * like one process has in hand beside it, down to one.
 *
 *      slots 100      lapsed 1 time: 25     2 times: 6     3 times: 1
 *
 * A poison that is claimed with eighty others takes all of them with it once, a quarter of the slots the second time, a
 * sixteenth the third time, and dies alone. What was in hand beside it lapsed less often than it, and has attempts left.
 * Cost: a crowd that lapsed together runs in groups. Those that lapsed once, and may have done so because a network was
 * away, run in growing ones: each that ends well makes room for one more.
 */

/** Each lapse makes the group so much smaller. */
const DIVISOR = 4

/** How many suspects one process may have in hand, if one of them lapsed so often. `proven`: so many ended well here. */
export function suspectsMax(lapses: number, slots: number, proven: number): number {
  const group = Math.max(1, Math.floor(slots / DIVISOR ** lapses))
  return lapses === 1 ? group + proven : group
}
