/**
 * Whether a worker asks its store again, as a machine: `step(state, event) -> [state, effects]`. Pure; `runtime/claiming/dispatcher`
 * claims and does what the effects say, and nothing else changes a state.
 *
 *           begin              end: there is room
 *   open ───────────► asking ──────────────────────► open
 *   full ───────────►   │
 *           begin       └── end: there is none ────► full          stop: from everywhere to `stopped`, for good
 *
 *   open     the last answers left room: the scheduler sleeps until the moment that they named
 *   asking   claims are decided or under way
 *   full     nothing more could be run: the scheduler sleeps until it hears of room, and a wake-up is for others
 *   stopped  no claim begins
 *
 * Of each lane this is known besides. One that has no standing was asked for, and the store's answer spoke of all that is due
 * for it. A survey gives every lane its standing anew.
 *
 *   more     was asked for, and more may be due than the answer spoke of: its limit used up what could start, or one of its
 *            messages went back
 *   busy     left out: no room, whatever other partitions have asked for
 *   put off  left out: other partitions have asked for what room it has
 *   passed   busy now, and put off before; like one that is put off it keeps our turn among the partitions until it is asked for
 *
 * Whenever room may have come, a look is planned, one for each turn of the event loop: it finds out whether that makes a
 * difference for a lane with a standing, or for any lane where all is full. Then the scheduler is offered the room.
 *
 *   none ──room──► planned ──look──► offered, while the scheduler hears of it ──► none
 *
 * A store may count on its sleepers. It does since a claim that spoke for all lanes (`counted`), until it was told that there is no
 * room here (`resigned`), so that it wakes others.
 */
import { assertNever } from '../errors.ts'

export type FetchState<L> = {
  readonly name: 'open' | 'asking' | 'full' | 'stopped'
  readonly look: 'none' | 'planned' | 'offered'
  /** `uncounted`: the store counts on no worker. */
  readonly sleeper: 'uncounted' | 'resigned' | 'counted'
  readonly lanes: ReadonlyMap<L, LaneStanding>
  /** The next survey begins with the lane behind it. */
  readonly servedLast: L | undefined
}

export type LaneStanding = 'more' | 'busy' | 'put off' | 'passed'

/** `room`: how many more messages it could take; `limit`: of these, how many no other partition has asked for. */
export type LaneRoom<L> = { readonly lane: L; readonly room: number; readonly limit: number }

/**
 * What a look for room found. `some`: a lane that has waited for room has it. `all`: no such lane, but now all lanes that have room can be
 * asked for together. `answer due`: a claim is under way among partitions, and its answer brings the next look.
 */
export type FoundRoom = 'some' | 'all' | 'none' | 'answer due'

export type FetchEvent<L> =
  /** The scheduler reads. */
  | { readonly kind: 'begin' }
  /** Every lane, as it stands at this moment. */
  | { readonly kind: 'survey'; readonly lanes: readonly LaneRoom<L>[] }
  /** A claim is about to be sent. */
  | { readonly kind: 'claim' }
  /** `last`: the lane of the last message that came; `usedUp`: lanes whose limit took all that could start. */
  | { readonly kind: 'answer'; readonly last: L | undefined; readonly usedUp: readonly L[] }
  /** There is nothing to ask for: other partitions have asked for the room, or there is none, or nothing can be settled now. */
  | { readonly kind: 'pass'; readonly why: 'promised' | 'busy' | 'stuck' }
  | { readonly kind: 'end'; readonly hasRoom: boolean }
  | { readonly kind: 'failure' }
  /** A message ended, a line got shorter, a limit was raised: there may be room. */
  | { readonly kind: 'room' }
  /** A message of this lane went back to the store, which need not tell us of it. */
  | { readonly kind: 'return'; readonly lane: L }
  | { readonly kind: 'look'; readonly found: FoundRoom }
  /** The scheduler has heard of the room. */
  | { readonly kind: 'heard' }
  /** The store says that something is due. */
  | { readonly kind: 'wake'; readonly isPromised: boolean }
  /** The store did not hear that there is no room here. */
  | { readonly kind: 'unheard' }
  | { readonly kind: 'stop' }

export type FetchEffect =
  /** A look at the end of this turn of the event loop. */
  | 'plan look'
  /** The scheduler hears that there is room; then `heard`. */
  | 'offer'
  /** Other partitions have the room: a look when they have had their time. */
  | 'wait'
  /** All that we had to wait for is asked for: other partitions come before us next time. */
  | 'take turn'
  /** A claim that wants nothing tells the store to wake others. */
  | 'resign'

export type FetchStep<L> = readonly [FetchState<L>, readonly FetchEffect[]]

const NONE: readonly FetchEffect[] = []
const PLAN_LOOK: readonly FetchEffect[] = ['plan look']
const OFFER: readonly FetchEffect[] = ['offer']
const WAIT: readonly FetchEffect[] = ['wait']
const TAKE_TURN: readonly FetchEffect[] = ['take turn']
const RESIGN: readonly FetchEffect[] = ['resign']

/** Before the first claim. */
export function startFetch<L>(sleeper: 'uncounted' | 'resigned'): FetchState<L> {
  return { name: 'open', look: 'none', sleeper, lanes: new Map(), servedLast: undefined }
}

export function step<L>(state: FetchState<L>, event: FetchEvent<L>): FetchStep<L> {
  if (state.name === 'stopped') return [state, NONE]
  switch (event.kind) {
    case 'begin':
      return [{ ...state, name: 'asking' }, NONE]
    case 'survey':
      return [{ ...state, lanes: standings(state.lanes, event.lanes) }, NONE]
    case 'claim':
      return stepClaim(state)
    case 'answer': {
      const next = event.last === undefined ? state : { ...state, servedLast: event.last }
      return event.usedUp.length === 0 ? [next, NONE] : planLook(withMore(next, event.usedUp))
    }
    case 'pass':
      if (event.why === 'promised') return [state, WAIT]
      return event.why === 'busy' ? resign(state) : [state, NONE]
    case 'end':
      return [{ ...state, name: event.hasRoom ? 'open' : 'full' }, NONE]
    case 'failure':
      return [{ ...state, name: 'open' }, NONE]
    case 'room':
      return state.name === 'full' || state.lanes.size > 0 ? planLook(state) : [state, NONE]
    case 'return':
      return planLook(withMore(state, [event.lane]))
    case 'look':
      return stepLook({ ...state, look: 'none' }, event.found)
    case 'heard':
      return [state.look === 'offered' ? { ...state, look: 'none' } : state, NONE]
    case 'wake':
      return state.name === 'full' && !event.isPromised ? resign(state) : [state, NONE]
    case 'unheard':
      return [state.sleeper === 'resigned' ? { ...state, sleeper: 'counted' } : state, NONE]
    case 'stop':
      return resign({ ...state, name: 'stopped' })
    default:
      return assertNever(event)
  }
}

/** Whether a claim speaks for all lanes: how long we sleep, and which topics have no room here. */
export function isWhole<L>({ lanes }: FetchState<L>): boolean {
  return ![...lanes.values()].includes('put off')
}

/** The lanes that the store should wake others for. */
export function busyLanes<L>({ lanes }: FetchState<L>): readonly L[] {
  return [...lanes].flatMap(([lane, standing]) =>
    standing === 'busy' || standing === 'passed' ? [lane] : [],
  )
}

/** For which lanes room makes a difference at once; those that are put off wait until all can be asked for together. */
export function waitingLanes<L>({ name, lanes }: FetchState<L>, all: readonly L[]): readonly L[] {
  if (name === 'full') return all
  return [...lanes].flatMap(([lane, standing]) => (standing === 'put off' ? [] : [lane]))
}

function standings<L>(
  before: ReadonlyMap<L, LaneStanding>,
  rooms: readonly LaneRoom<L>[],
): ReadonlyMap<L, LaneStanding> {
  const after = new Map<L, LaneStanding>()
  for (const { lane, room, limit } of rooms) {
    const standing = before.get(lane)
    if (limit > 0) continue
    if (room > 0) after.set(lane, 'put off')
    else after.set(lane, standing === 'put off' || standing === 'passed' ? 'passed' : 'busy')
  }
  return after
}

/** Lanes that were left out are asked for again anyway. */
function withMore<L>(state: FetchState<L>, lanes: readonly L[]): FetchState<L> {
  const added = lanes.filter((lane) => !state.lanes.has(lane))
  if (added.length === 0) return state
  return { ...state, lanes: new Map([...state.lanes, ...added.map((lane) => [lane, 'more'] as const)]) }
}

function stepClaim<L>(state: FetchState<L>): FetchStep<L> {
  const next: FetchState<L> =
    state.sleeper === 'resigned' && isWhole(state) ? { ...state, sleeper: 'counted' } : state
  const keepsTurn = [...state.lanes.values()].some(
    (standing) => standing === 'put off' || standing === 'passed',
  )
  return [next, keepsTurn ? NONE : TAKE_TURN]
}

function stepLook<L>(state: FetchState<L>, found: FoundRoom): FetchStep<L> {
  if (found === 'answer due') return [state, NONE]
  if (found === 'some' || (found === 'all' && !isWhole(state))) return [{ ...state, look: 'offered' }, OFFER]
  return [state, isWhole(state) ? NONE : WAIT]
}

function planLook<L>(state: FetchState<L>): FetchStep<L> {
  return state.look === 'planned' ? [state, NONE] : [{ ...state, look: 'planned' }, PLAN_LOOK]
}

function resign<L>(state: FetchState<L>): FetchStep<L> {
  return state.sleeper === 'counted' ? [{ ...state, sleeper: 'resigned' }, RESIGN] : [state, NONE]
}
