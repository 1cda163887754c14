import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  busyLanes,
  isWhole,
  startFetch,
  step,
  waitingLanes,
  type FetchEffect,
  type FetchEvent,
  type FetchState,
  type LaneStanding,
} from '../../src/core/machines/fetch.ts'

type State = FetchState<string>
type Event = FetchEvent<string>

const NAMES = ['open', 'asking', 'full', 'stopped'] as const
const LOOKS = ['none', 'planned', 'offered'] as const
const SLEEPERS = ['uncounted', 'resigned', 'counted'] as const
const STANDINGS = [undefined, 'more', 'busy', 'put off', 'passed'] as const

const EVENTS: Readonly<Record<string, Event>> = {
  begin: { kind: 'begin' },
  survey: {
    kind: 'survey',
    lanes: [
      { lane: 'a', room: 0, limit: 0 },
      { lane: 'b', room: 2, limit: 0 },
      { lane: 'c', room: 2, limit: 1 },
    ],
  },
  claim: { kind: 'claim' },
  answer: { kind: 'answer', last: 'c', usedUp: [] },
  'answer, a used up': { kind: 'answer', last: undefined, usedUp: ['a'] },
  'pass, promised': { kind: 'pass', why: 'promised' },
  'pass, busy': { kind: 'pass', why: 'busy' },
  'pass, stuck': { kind: 'pass', why: 'stuck' },
  'end, room': { kind: 'end', hasRoom: true },
  'end, no room': { kind: 'end', hasRoom: false },
  failure: { kind: 'failure' },
  room: { kind: 'room' },
  'return of a': { kind: 'return', lane: 'a' },
  'look, some': { kind: 'look', found: 'some' },
  'look, all': { kind: 'look', found: 'all' },
  'look, none': { kind: 'look', found: 'none' },
  'look, answer due': { kind: 'look', found: 'answer due' },
  heard: { kind: 'heard' },
  wake: { kind: 'wake', isPromised: false },
  'wake, promised': { kind: 'wake', isPromised: true },
  unheard: { kind: 'unheard' },
  stop: { kind: 'stop' },
}

/** Every state of two lanes; the third is never left out. */
const STATES: readonly State[] = NAMES.flatMap((name) =>
  LOOKS.flatMap((look) =>
    SLEEPERS.flatMap((sleeper) =>
      STANDINGS.flatMap((a) =>
        STANDINGS.map((b) => ({ name, look, sleeper, lanes: lanesOf(a, b), servedLast: 'a' })),
      ),
    ),
  ),
)

function lanesOf(a?: LaneStanding, b?: LaneStanding): ReadonlyMap<string, LaneStanding> {
  return new Map([
    ...(a === undefined ? [] : ([['a', a]] as const)),
    ...(b === undefined ? [] : ([['b', b]] as const)),
  ])
}

/**
 * What each event does, part by part: a word is the part's value after it, and what is not named stays as it was. `if` says
 * what must hold of the state; the first row that fits counts. Nothing happens after a stop.
 */
type Row = {
  readonly if?: (state: State) => boolean
  readonly name?: State['name']
  readonly look?: State['look']
  readonly sleeper?: State['sleeper']
  readonly a?: Readonly<Partial<Record<string, LaneStanding | 'asked'>>>
  readonly b?: Readonly<Partial<Record<string, LaneStanding | 'asked'>>>
  readonly servedLast?: string
  readonly effects?: readonly FetchEffect[]
}

const has = (standing: LaneStanding) => (state: State) => [...state.lanes.values()].includes(standing)
const isCounted = ({ sleeper }: State): boolean => sleeper === 'counted'
const isPlanned = ({ look }: State): boolean => look === 'planned'
const RESIGNS: Row = { sleeper: 'resigned', effects: ['resign'] }
const PLANS: Row = { look: 'planned', effects: ['plan look'] }
const A_MORE = { undefined: 'more' } as const

const TABLE: Readonly<Record<string, readonly Row[]>> = {
  begin: [{ name: 'asking' }],
  survey: [
    {
      a: { undefined: 'busy', more: 'busy', busy: 'busy', 'put off': 'passed', passed: 'passed' },
      b: { undefined: 'put off', more: 'put off', busy: 'put off', 'put off': 'put off', passed: 'put off' },
    },
  ],
  claim: [
    { if: (state) => has('put off')(state) },
    { if: (state) => has('passed')(state) && state.sleeper === 'resigned', sleeper: 'counted' },
    { if: has('passed') },
    { if: ({ sleeper }) => sleeper === 'resigned', sleeper: 'counted', effects: ['take turn'] },
    { effects: ['take turn'] },
  ],
  answer: [{ servedLast: 'c' }],
  'answer, a used up': [
    { if: isPlanned, a: A_MORE },
    { ...PLANS, a: A_MORE },
  ],
  'pass, promised': [{ effects: ['wait'] }],
  'pass, busy': [{ if: isCounted, ...RESIGNS }, {}],
  'pass, stuck': [{}],
  'end, room': [{ name: 'open' }],
  'end, no room': [{ name: 'full' }],
  failure: [{ name: 'open' }],
  room: [{ if: isPlanned }, { if: ({ name, lanes }) => name !== 'full' && lanes.size === 0 }, PLANS],
  'return of a': [
    { if: isPlanned, a: A_MORE },
    { ...PLANS, a: A_MORE },
  ],
  'look, some': [{ look: 'offered', effects: ['offer'] }],
  'look, all': [{ if: has('put off'), look: 'offered', effects: ['offer'] }, { look: 'none' }],
  'look, none': [{ if: has('put off'), look: 'none', effects: ['wait'] }, { look: 'none' }],
  'look, answer due': [{ look: 'none' }],
  heard: [{ if: ({ look }) => look === 'offered', look: 'none' }, {}],
  wake: [{ if: (state) => state.name === 'full' && isCounted(state), ...RESIGNS }, {}],
  'wake, promised': [{}],
  unheard: [{ if: ({ sleeper }) => sleeper === 'resigned', sleeper: 'counted' }, {}],
  stop: [{ if: isCounted, name: 'stopped', ...RESIGNS }, { name: 'stopped' }],
}

function expected(state: State, event: string): readonly [State, readonly FetchEffect[]] {
  if (state.name === 'stopped') return [state, []]
  const row = TABLE[event]?.find((one) => one.if?.(state) !== false) ?? {}
  const standing = (lane: 'a' | 'b'): LaneStanding | undefined => {
    const before = state.lanes.get(lane)
    const after = row[lane]?.[String(before)] ?? before
    return after === 'asked' ? undefined : after
  }
  const { name, look, sleeper, servedLast } = { ...state, ...row }
  return [
    { name, look, sleeper, servedLast, lanes: lanesOf(standing('a'), standing('b')) },
    row.effects ?? [],
  ]
}

const partsOf = ([state, effects]: readonly [State, readonly FetchEffect[]]): unknown => [
  { ...state, lanes: Object.fromEntries(state.lanes) },
  effects,
]

describe('what a worker asks for', () => {
  it.each(Object.keys(EVENTS))('%s, in every state', (event) => {
    for (const state of STATES)
      expect(partsOf(step(state, EVENTS[event] as Event)), JSON.stringify(partsOf([state, []]))).toEqual(
        partsOf(expected(state, event)),
      )
  })

  it('an event that changes nothing makes no new state: one is fed for every message that ends', () => {
    for (const state of STATES)
      for (const event of ['room', 'wake, promised', 'heard']) {
        const [after] = step(state, EVENTS[event] as Event)
        if (JSON.stringify(partsOf([after, []])) === JSON.stringify(partsOf([state, []])))
          expect(after).toBe(state)
      }
  })

  it('a lane that is asked for has no standing any more', () => {
    const lanes = [{ lane: 'a', room: 3, limit: 3 }]
    for (const standing of STANDINGS)
      expect(
        step({ ...startFetch<string>('resigned'), lanes: lanesOf(standing) }, { kind: 'survey', lanes })[0]
          .lanes.size,
      ).toBe(0)
  })

  it('a claim speaks for all lanes unless one is put off; the store hears which are busy, in the order of the survey', () => {
    const state = { ...startFetch<string>('resigned'), lanes: lanesOf('passed', 'busy') }
    expect([isWhole(state), busyLanes(state)]).toEqual([true, ['a', 'b']])
    const other = { ...state, lanes: lanesOf('put off', 'more') }
    expect([isWhole(other), busyLanes(other)]).toEqual([false, []])
  })

  it('room makes a difference for lanes that were left out or may have more; where all is full, for any lane', () => {
    const all = ['a', 'b', 'c']
    const open: State = { ...startFetch('resigned'), lanes: lanesOf('more', 'put off') }
    expect(waitingLanes(open, all)).toEqual(['a'])
    expect(waitingLanes({ ...open, name: 'full' }, all)).toEqual(all)
  })

  const anyEvents = fc.array(fc.constantFrom(...Object.values(EVENTS)), { maxLength: 40 })

  it('P9: the store is told that there is no room at most once after each time that it counts on us', () => {
    fc.assert(
      fc.property(fc.constantFrom('uncounted', 'resigned'), anyEvents, (sleeper, events) => {
        let state: State = startFetch(sleeper)
        for (const event of events) {
          const [next, effects] = step(state, event)
          if (effects.includes('resign'))
            expect([state.sleeper, next.sleeper]).toEqual(['counted', 'resigned'])
          if (sleeper === 'uncounted') expect(next.sleeper === 'counted').toBe(false)
          state = next
        }
      }),
    )
  })

  it('P11: from anywhere a stop ends everything', () => {
    for (const state of STATES) {
      const [stopped] = step(state, { kind: 'stop' })
      for (const event of Object.values(EVENTS)) expect(step(stopped, event)).toEqual([stopped, []])
    }
  })

  it('room that comes after a full answer is always looked for: no look is forgotten', () => {
    fc.assert(
      fc.property(anyEvents, (events) => {
        let state: State = startFetch('resigned')
        let willLook = false
        for (const event of events) {
          if (event.kind === 'stop' || (event.kind === 'look' && !willLook)) continue
          if (event.kind === 'look') willLook = false
          const [next, effects] = step(state, event)
          if (effects.includes('plan look')) {
            expect(willLook).toBe(false)
            willLook = true
          }
          if (next.look === 'planned') expect(willLook).toBe(true)
          if (event.kind === 'room' && next.name === 'full') expect(willLook).toBe(true)
          state = next
        }
      }),
    )
  })
})
