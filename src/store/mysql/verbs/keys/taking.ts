/**
 * Hands out what is due where some topics have keys (P1, P3, P7, P16, P17).
 *
 *   lock    the row of each such topic, and fold its notes into the line
 *   round   who of the line is handed something (`round`), lock those messages, where their keys stand then (`turns`); again
 *           while there is room and the line goes on, up to five times; then more is there, and the claim says so
 *   lease   all of them, together with those of other topics, and commit (`claim/due`)
 *
 * What somebody else's open transaction has locked is passed over; its key is looked at again soon.
 */
import type { TopicKeyRules } from '../../../sql/gating.ts'
import type { QueuePlace } from '../../sql/clock.ts'
import { listed, sql, type SqlRow, type Statement } from '../../sql/statement.ts'
import type { Steps } from '../../transactions.ts'
import { dueHeads, leasePicked, lockDue, type Taken, type TurnPick } from '../claim/due.ts'
import { byPriority, type TopicHead } from '../claim/heads.ts'
import { leaseColumns, Room, type DueTerms, type HeadPick, type PickedRow } from '../claim/picking.ts'
import { deleteKeyed, KEY_RUNS } from './changes.ts'
import { readLine, selectLine, toLine, type TurnInLine } from './line.ts'
import { chosenOf, sharesOf, type TurnChosen } from './round.ts'
import { leaveTopics, lockTopics, selectTurnHeads, type LockedTopic } from './topics.ts'
import { turnsAfter } from './turns.ts'

const ROUNDS_MAX = 5
const RANKS = [0, 1, 2]

export type KeyedTopics = {
  readonly now: number
  /** The first moments of messages without a key. */
  readonly heads: readonly TopicHead[]
  /** Which of the wanted topics have keys. */
  readonly keyed: readonly number[]
  readonly rules: readonly TopicKeyRules[]
}

/** Takes what is due of all that is wanted. `write`: what else belongs to the same commit. */
export async function takeInTurn(
  steps: Steps,
  where: QueuePlace,
  terms: DueTerms,
  { now: before, heads, keyed, rules }: KeyedTopics,
  write: (taken: readonly number[]) => readonly Statement[],
): Promise<Taken> {
  const { queue } = where
  const room = new Room(terms)
  const all = keyed.map((topic) => ({
    topic,
    name: terms.topics[topic] ?? '',
    lead: terms.leads[topic] ?? 0,
  }))
  const wanted = all.filter(({ topic }) => room.for({ topic }) > 0)
  const locked = await lockTopics(steps, where, wanted, before)
  const { now, topics } = locked
  const until = ({ topic }: { readonly topic: number }): number => now + (terms.leads[topic] ?? 0)
  const lines = await readLines(steps, queue, locked.fold, topics, { room, rules, now, until })
  const claim: TurnClaim = { steps, queue, now, room, rules, until, pending: [] }
  const due = [...dueHeads(heads, terms, now), ...lines.filter(({ line }) => line.length > 0)]
  const picks: HeadPick[] = []
  const turns: TurnPick[] = []
  for (const { topic, rank } of distinctHeads(due)) {
    if (room.isFull) break
    const plain = heads.find((head) => head.topic === topic && head.rank === rank)
    const ofTopic = topics.find((one) => one.topic === topic)
    if (ofTopic !== undefined) {
      const line = lines.find((one) => one.topic === topic && one.rank === rank)?.line ?? []
      turns.push(await takeLine(claim, { topic: ofTopic, rank, plain, line }))
    } else if (plain !== undefined)
      picks.push(...(await lockDue(steps, queue, terms, { heads: [plain], now, way: 'keys', room })))
  }
  const last = [...claim.pending, ...leaveTopics(queue, topics)]
  return leasePicked(steps, queue, terms, {
    picks,
    heads,
    now,
    turns,
    write: (taken) => [...last, ...write(taken)],
    look: selectTurnHeads(queue, all, now),
  })
}

function distinctHeads(
  heads: readonly Pick<TopicHead, 'topic' | 'rank'>[],
): Pick<TopicHead, 'topic' | 'rank'>[] {
  const found = new Map(heads.map(({ topic, rank }) => [`${topic} ${rank}`, { topic, rank }]))
  return [...found.values()].toSorted(byPriority)
}

type LineTerms = Pick<TurnClaim, 'room' | 'rules' | 'now' | 'until'>
type LineOfRank = { readonly topic: number; readonly rank: number; readonly line: readonly TurnInLine[] }

async function readLines(
  steps: Steps,
  queue: number,
  before: readonly Statement[],
  topics: readonly LockedTopic[],
  { room, rules, now, until }: LineTerms,
): Promise<LineOfRank[]> {
  if (topics.length === 0) return []
  const asked = topics.flatMap((one) => RANKS.map((rank) => ({ ...one, rank })))
  const replies = await steps.send(
    ...before,
    ...asked.map(({ topic, name, rank }) =>
      selectLine(
        { queue, topic: name, priority: rank },
        Math.max(until({ topic }), now + 1),
        room.for({ topic }),
      ),
    ),
  )
  return asked.map(({ topic, rank }, i) => ({
    topic,
    rank,
    line: toLine(replies[before.length + i] ?? [], rules[topic] ?? NO_RULES, now),
  }))
}

const NO_RULES: TopicKeyRules = { perKey: undefined, hasOwn: false }

/** What a claim has in hand while it goes from line to line. */
type TurnClaim = {
  readonly steps: Steps
  readonly queue: number
  readonly now: number
  readonly room: Room
  readonly rules: readonly TopicKeyRules[]
  readonly until: (head: { readonly topic: number }) => number
  /** What the last round wrote, and goes with the next flight. */
  pending: Statement[]
}

type LineTaken = {
  readonly topic: LockedTopic
  readonly rank: number
  readonly plain: TopicHead | undefined
  readonly line: readonly TurnInLine[]
}

/** Everything that may be handed out of one topic and priority, as far as there is room. */
async function takeLine(claim: TurnClaim, of: LineTaken): Promise<TurnPick> {
  const { topic, rank, plain } = of
  const { steps, queue, now, room } = claim
  const head: TopicHead = plain ?? { topic: topic.topic, rank, at: now }
  const picked: PickedRow[] = []
  const skipped = new Set<number>()
  const until = Math.max(claim.until(head), now + 1)
  let { line } = of
  for (let round = 1; round <= ROUNDS_MAX && room.for(head) > 0 && !room.isFull; round += 1) {
    if (round > 1) {
      const selected = selectLine({ queue, topic: topic.name, priority: rank }, until, room.for(head))
      const replies = await steps.send(...flushed(claim), selected)
      line = toLine(replies.at(-1) ?? [], claim.rules[topic.topic] ?? NO_RULES, now)
    }
    const size = room.for(head)
    line = line.slice(0, size)
    const isLineFull = line.length === size
    const end = await takeRound(claim, { ...of, line }, { head, skipped })
    picked.push(...end.picked)
    if (!isLineFull && !end.isMore) break
  }
  return { head, isPlain: plain !== undefined, picked, isShort: !room.isFull && room.for(head) > 0 }
}

/** Statements of the round before, which are on their way then. */
function flushed(claim: TurnClaim): readonly Statement[] {
  const { pending } = claim
  claim.pending = []
  return pending
}

type RoundEnd = { readonly picked: readonly PickedRow[]; readonly isMore: boolean }
type RoundOf = { readonly head: TopicHead; readonly skipped: Set<number> }

async function takeRound(
  claim: TurnClaim,
  { topic, rank, plain, line }: LineTaken,
  { head, skipped }: RoundOf,
): Promise<RoundEnd> {
  const { steps, queue, now, room } = claim
  const [until, stamp] = [claim.until(head), now + 1]
  const name = topic.name
  const size = room.for(head)
  const { members, plain: free } = await readLine(steps, flushed(claim), {
    queue,
    topic: name,
    priority: rank,
    line,
    room: size,
    until,
    isSkipping: skipped.size > 0,
    plainFrom: plain?.at,
  })
  const terms = { room: size, priority: rank, until, stamp, skipped }
  const shares = sharesOf(members, terms)
  const chosen = chosenOf(shares, free, terms)
  const rows = await lockChosen(steps, chosen)
  const missed = chosen.filter(({ seq }) => !rows.has(seq))
  const orphans = await findOrphans(steps, missed)
  for (const { seq } of missed) skipped.add(seq)
  const picked = room.takeInOrder(
    head,
    chosen.map(({ seq }) => rows.get(seq)).filter((row) => row !== undefined),
  )
  const given = new Set(picked.map(({ seq }) => seq))
  const ofShare = new Map(chosen.map(({ seq, share }) => [seq, share]))
  const ofKeys = picked.filter(({ seq }) => ofShare.get(seq) !== undefined).map(({ seq }) => seq)
  const turns = turnsAfter(
    { queue, topic: name },
    shares.map((share) => ({
      share,
      given: new Set(share.free.flatMap(({ seq }) => (given.has(seq) ? [seq] : []))),
      missed: missed.filter((one) => one.share === share).length,
    })),
    { priority: rank, now, until, stamp, number: () => (topic.lastNumber += 1) },
  )
  claim.pending = [
    ...(orphans.length === 0 ? [] : [deleteKeyed(orphans)]),
    ...(ofKeys.length === 0 ? [] : [runKeyed(ofKeys)]),
    ...turns.statements,
  ]
  return { picked, isMore: turns.isMore || missed.length > 0 }
}

/** Those that others have not locked, by number. */
async function lockChosen(steps: Steps, chosen: readonly TurnChosen[]): Promise<ReadonlyMap<number, SqlRow>> {
  if (chosen.length === 0) return new Map()
  const [rows = []] = await steps.send(
    sql`select ${leaseColumns} from ${listed(chosen.map(({ seq }) => seq))}
      straight_join punctual_message as m force index (primary) on m.seq = d.value and m.state in (0, 4)
      for update skip locked`,
  )
  return new Map(rows.map((row) => [Number(row['seq']), row]))
}

/**
 * Places of messages that are not there, or wait without a key: what a process that knows no keys leaves behind when it replaces
 * one. Both rows are read at one moment, so that it is no change that is under way.
 */
async function findOrphans(steps: Steps, missed: readonly TurnChosen[]): Promise<number[]> {
  const seqs = missed.flatMap(({ seq, share }) => (share === undefined ? [] : [seq]))
  if (seqs.length === 0) return []
  const [rows = []] = await steps.send(
    sql`select k.seq from punctual_keyed as k force index (primary)
      left join punctual_message as m force index (primary) on m.seq = k.seq and m.state = 4
      where k.seq in (${seqs}) and m.seq is null`,
  )
  return rows.map((row) => Number(row['seq']))
}

function runKeyed(seqs: readonly number[]): Statement {
  return sql`update punctual_keyed force index (primary) set state = ${KEY_RUNS} where seq in (${seqs})`
}
