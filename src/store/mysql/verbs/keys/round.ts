/**
 * Who is handed something in one round of a claim, of one topic and priority: messages of keys in the order of their turns,
 * together with those that have none, whose turn is their moment (P7, P16, P17). Pure.
 *
 * A round takes keys in the order of the line, of each as many messages as its weight, and more where the line shows all that
 * is due and room is left. A place in the line may be too early, as that of a key whose first message was cancelled; it is never
 * too late. So where the line goes on, nothing is handed out that stands behind its end.
 */
import type { Meter } from '../../../../core/controls.ts'
import { isSerial, type KeyTerms } from '../../../../core/keys.ts'

/** A message that waits, as the index shows it: not locked yet. */
export type WaitingPlace = { readonly seq: number; readonly dueAt: number }

/** A key as it stands in the line. Moments are microseconds. */
export type LineKey = {
  readonly key: string
  readonly servedAt: number
  readonly used: number
  readonly nextAt: number
  readonly tie: number
  readonly terms: KeyTerms
  /** Of its rate, if it has one. */
  readonly meter: Meter | undefined
}

export type KeyInLine = LineKey & {
  readonly running: number
  /** Of a serial key: the message that holds it, of whatever priority. */
  readonly holder: (WaitingPlace & { readonly priority: number }) | undefined
  /** The first ones of this priority, due or not, one more than could be handed out. */
  readonly first: readonly WaitingPlace[]
}

export type RoundTerms = {
  /** So many may be handed out. */
  readonly room: number
  readonly priority: number
  /** What is due by then. */
  readonly until: number
  /** When a key counts as served that is served now. */
  readonly stamp: number
  /** Messages that others have locked, as far as we know. */
  readonly skipped: ReadonlySet<number>
}

/** What a key may be given in this round. */
export type KeyShare = {
  readonly member: KeyInLine
  /** As many as its weight, or a share of what is left; how many more of it may run; how many may start. */
  readonly quota: number
  readonly slots: number
  readonly starts: number
  /** Its messages that are due and not locked, as far as it may be given any. */
  readonly free: readonly WaitingPlace[]
}

export type TurnChosen = { readonly seq: number; readonly share: KeyShare | undefined }

/** How often a round may go through the line. */
export function lapsOf(line: readonly LineKey[], room: number): number {
  const weights = line.reduce((sum, { terms }) => sum + terms.weight, 0)
  return line.length < room ? Math.max(1, Math.floor(room / weights)) : 1
}

export function quotaOf({ terms: { weight }, used }: LineKey, laps: number): number {
  return Math.max(1, laps * weight - used)
}

export function sharesOf(line: readonly KeyInLine[], terms: RoundTerms): KeyShare[] {
  const { priority, until, skipped } = terms
  const laps = lapsOf(line, terms.room)
  return line.map((member): KeyShare => {
    const { running, holder, first, meter } = member
    const quota = quotaOf(member, laps)
    const slots = (member.terms.concurrency ?? Infinity) - running
    const starts = meter?.left ?? Infinity
    const room = Math.max(0, Math.min(quota, slots, starts))
    const own = holder === undefined ? first : holder.priority === priority ? [holder] : []
    const due = own.filter(({ dueAt }) => dueAt <= until)
    // Of a serial key nothing goes before one that others have locked, perhaps for a moment: it has an order to keep.
    const locked = isSerial(member.terms) ? due.findIndex(({ seq }) => skipped.has(seq)) : -1
    const free = (locked < 0 ? due : due.slice(0, locked))
      .filter(({ seq }) => !skipped.has(seq))
      .slice(0, room)
    return { member, quota, slots, starts, free }
  })
}

/** What to hand out, in this order. `plain`: messages without a key that are due. */
export function chosenOf(
  shares: readonly KeyShare[],
  plain: readonly WaitingPlace[],
  { room, stamp, skipped }: RoundTerms,
): TurnChosen[] {
  const places = shares.flatMap((share) => {
    const { servedAt, used, tie, terms } = share.member
    return share.free.map(({ seq, dueAt }, i) => {
      const turn = Math.max(dueAt, i < terms.weight - used ? servedAt : stamp)
      return { seq, share, turn, lap: Math.floor(i / terms.weight), tie, n: i }
    })
  })
  const others = plain
    .filter(({ seq }) => !skipped.has(seq))
    .map(({ seq, dueAt }) => ({ seq, share: undefined, turn: dueAt, lap: 0, tie: seq, n: 0 }))
  // Behind the end of a line that goes on may stand a key whose turn is before.
  const end = shares.length < room ? Infinity : Math.max(...shares.map(({ member }) => member.nextAt))
  return [...places, ...others]
    .filter(({ turn }) => turn <= end)
    .toSorted((a, b) => a.turn - b.turn || a.lap - b.lap || a.tie - b.tie || a.n - b.n)
    .slice(0, room)
}
