import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  hasSlot,
  HELD,
  holdsLease,
  QUEUED,
  step,
  type AbortCause,
  type RunEffect,
  type RunEvent,
  type RunState,
} from '../../src/core/machines/run.ts'

const CAUSES: readonly AbortCause[] = ['timeout', 'stop', 'doubt', 'cancel', 'lost']
const BOOM = { kind: 'threw', error: new Error('boom') } as const

const STATES: Readonly<Record<string, RunState>> = {
  held: HELD,
  queued: QUEUED,
  running: { name: 'running', isComplete: false },
  'running, complete': { name: 'running', isComplete: true },
  ...Object.fromEntries(
    CAUSES.flatMap((why) => [
      [why, { name: 'aborting', why, isComplete: false }],
      [`${why}, complete`, { name: 'aborting', why, isComplete: true }],
    ]),
  ),
  settling: { name: 'settling' },
  over: { name: 'over' },
}

const EVENTS: Readonly<Record<string, RunEvent>> = {
  due: { kind: 'due' },
  start: { kind: 'start' },
  refuse: { kind: 'refuse', outcome: { kind: 'dead', reason: 'expired', error: '' } },
  'give back': { kind: 'give back' },
  deadline: { kind: 'deadline' },
  stop: { kind: 'stop' },
  doubt: { kind: 'doubt' },
  cancel: { kind: 'cancel' },
  lost: { kind: 'lost' },
  complete: { kind: 'complete' },
  returned: { kind: 'ended', ending: { kind: 'returned' }, hasSeenSignal: false },
  'returned, seen': { kind: 'ended', ending: { kind: 'returned' }, hasSeenSignal: true },
  threw: { kind: 'ended', ending: BOOM, hasSeenSignal: false },
  'threw, seen': { kind: 'ended', ending: BOOM, hasSeenSignal: true },
  abandon: { kind: 'abandon' },
  leave: { kind: 'leave' },
  answered: { kind: 'answered' },
}

/** Where each event leads, and its effects; an event that is not named changes nothing and has none. */
const TABLE: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  held: {
    due: 'queued: leave holding, enqueue',
    refuse: 'settling: leave holding, settle dead',
    'give back': 'settling: leave holding, settle release',
    cancel: 'settling: leave holding, settle release',
    lost: 'over: leave holding, report lost, let go',
  },
  queued: {
    start: 'running: leave line, call',
    refuse: 'settling: leave line, settle dead',
    'give back': 'settling: leave line, settle release',
    cancel: 'settling: leave line, settle release',
    deadline: 'settling: leave line, settle release, clear line',
    lost: 'over: leave line, report lost, let go',
  },
  running: {
    deadline: 'timeout: abort timeout',
    stop: 'stop: abort stop',
    doubt: 'doubt: report lost, abort doubt',
    cancel: 'cancel: abort cancel',
    lost: 'lost: report lost, abort lost',
    complete: 'running, complete: ',
    returned: 'settling: ended, conclude returned',
    'returned, seen': 'settling: ended, conclude returned',
    threw: 'settling: ended, conclude threw',
    'threw, seen': 'settling: ended, conclude threw',
    abandon: 'settling: abandoned, settle release',
    leave: 'over: abandoned, let go',
  },
  'running, complete': {
    deadline: 'timeout, complete: abort timeout',
    stop: 'stop, complete: abort stop',
    doubt: 'doubt, complete: report lost, abort doubt',
    cancel: 'cancel, complete: abort cancel',
    lost: 'lost, complete: report lost, abort lost',
    returned: 'settling: ended, conclude own word',
    'returned, seen': 'settling: ended, conclude own word',
    threw: 'settling: ended, conclude own word',
    'threw, seen': 'settling: ended, conclude own word',
    abandon: 'settling: abandoned, conclude own word',
    leave: 'over: abandoned, let go',
  },
  timeout: {
    deadline: 'settling: ended, time out',
    lost: 'lost: report lost, abort lost',
    complete: 'timeout, complete: ',
    returned: 'settling: ended, time out',
    'returned, seen': 'settling: ended, time out',
    threw: 'settling: ended, time out',
    'threw, seen': 'settling: ended, time out',
    abandon: 'settling: abandoned, time out',
    leave: 'over: abandoned, let go',
  },
  'timeout, complete': {
    deadline: 'settling: ended, conclude own word',
    lost: 'lost, complete: report lost, abort lost',
    returned: 'settling: ended, conclude own word',
    'returned, seen': 'settling: ended, conclude own word',
    threw: 'settling: ended, conclude own word',
    'threw, seen': 'settling: ended, conclude own word',
    abandon: 'settling: abandoned, conclude own word',
    leave: 'over: abandoned, let go',
  },
  stop: {
    lost: 'lost: report lost, abort lost',
    complete: 'stop, complete: ',
    returned: 'settling: ended, conclude returned',
    'returned, seen': 'settling: ended, settle release',
    threw: 'settling: ended, settle release',
    'threw, seen': 'settling: ended, settle release',
    abandon: 'settling: abandoned, settle release',
    leave: 'over: abandoned, let go',
  },
  'stop, complete': {
    lost: 'lost, complete: report lost, abort lost',
    returned: 'settling: ended, conclude own word',
    'returned, seen': 'settling: ended, conclude own word',
    threw: 'settling: ended, conclude own word',
    'threw, seen': 'settling: ended, conclude own word',
    abandon: 'settling: abandoned, conclude own word',
    leave: 'over: abandoned, let go',
  },
  doubt: {
    deadline: 'timeout: abort timeout',
    stop: 'stop: abort stop',
    cancel: 'cancel: abort cancel',
    lost: 'lost: abort lost',
    complete: 'doubt, complete: ',
    returned: 'settling: ended, conclude returned',
    'returned, seen': 'settling: ended, settle release',
    threw: 'settling: ended, settle release',
    'threw, seen': 'settling: ended, settle release',
    abandon: 'settling: abandoned, settle release',
    leave: 'over: abandoned, let go',
  },
  'doubt, complete': {
    deadline: 'timeout, complete: abort timeout',
    stop: 'stop, complete: abort stop',
    cancel: 'cancel, complete: abort cancel',
    lost: 'lost, complete: abort lost',
    returned: 'settling: ended, conclude own word',
    'returned, seen': 'settling: ended, conclude own word',
    threw: 'settling: ended, conclude own word',
    'threw, seen': 'settling: ended, conclude own word',
    abandon: 'settling: abandoned, conclude own word',
    leave: 'over: abandoned, let go',
  },
  cancel: {
    deadline: 'settling: ended, settle release',
    lost: 'lost: report lost, abort lost',
    complete: 'cancel, complete: ',
    returned: 'settling: ended, settle release',
    'returned, seen': 'settling: ended, settle release',
    threw: 'settling: ended, settle release',
    'threw, seen': 'settling: ended, settle release',
    abandon: 'settling: abandoned, settle release',
    leave: 'over: abandoned, let go',
  },
  'cancel, complete': {
    deadline: 'settling: ended, conclude own word',
    lost: 'lost, complete: report lost, abort lost',
    returned: 'settling: ended, conclude own word',
    'returned, seen': 'settling: ended, conclude own word',
    threw: 'settling: ended, conclude own word',
    'threw, seen': 'settling: ended, conclude own word',
    abandon: 'settling: abandoned, conclude own word',
    leave: 'over: abandoned, let go',
  },
  lost: lostRow(),
  'lost, complete': lostRow(),
  settling: { answered: 'over: let go' },
  over: {},
}

function lostRow(): Readonly<Record<string, string>> {
  return {
    deadline: 'over: ended, let go',
    returned: 'over: ended, let go',
    'returned, seen': 'over: ended, let go',
    threw: 'over: ended, let go',
    'threw, seen': 'over: ended, let go',
    abandon: 'over: abandoned, let go',
    leave: 'over: abandoned, let go',
  }
}

function nameOf(state: RunState): string {
  const isComplete = 'isComplete' in state && state.isComplete
  return `${state.name === 'aborting' ? state.why : state.name}${isComplete ? ', complete' : ''}`
}

function textOf(effect: RunEffect): string {
  switch (effect.kind) {
    case 'abort':
      return `abort ${effect.why}`
    case 'free slot':
      return effect.how
    case 'conclude':
      return `conclude ${'isOwnWord' in effect.ending ? 'own word' : effect.ending.kind}`
    case 'settle':
      return `settle ${effect.outcome.kind}`
    default:
      return effect.kind
  }
}

const cells = Object.keys(STATES).flatMap((state) =>
  Object.keys(EVENTS).map((event) => [state, event] as const),
)

describe('the life of a run', () => {
  it.each(cells)('%s, %s', (state, event) => {
    const before = STATES[state] as RunState
    const [after, effects] = step(before, EVENTS[event] as RunEvent)
    const expected = TABLE[state]?.[event]
    if (expected === undefined) expect([after, effects]).toEqual([before, []])
    else expect(`${nameOf(after)}: ${effects.map(textOf).join(', ')}`).toBe(expected)
  })

  it('P6: what the handler threw is what is concluded', () => {
    const [, effects] = step(STATES.running as RunState, EVENTS.threw as RunEvent)
    expect(effects).toContainEqual({ kind: 'conclude', ending: BOOM })
  })

  const anyEvents = fc.array(fc.constantFrom(...Object.values(EVENTS)), { maxLength: 30 })

  it('slots, lines and settlements add up, whatever happens in whatever order', () => {
    fc.assert(
      fc.property(fc.constantFrom(HELD, QUEUED), anyEvents, (first, events) => {
        const count = new Map<string, number>()
        const add = (what: string, by: number): unknown => count.set(what, (count.get(what) ?? 0) + by)
        let state = first
        add(first === HELD ? 'holding' : 'line', 1)
        for (const event of events) {
          const [next, effects] = step(state, event)
          state = next
          for (const { kind } of effects) {
            if (kind === 'enqueue') add('line', 1)
            if (kind === 'leave line') add('line', -1)
            if (kind === 'leave holding') add('holding', -1)
            if (kind === 'call') add('slots', 1)
            if (kind === 'free slot') add('slots', -1)
            if (kind === 'settle' || kind === 'conclude' || kind === 'time out') add('settlements', 1)
            if (kind === 'let go') add('let go', 1)
          }
          const { name } = state
          expect(count.get('holding') ?? 0).toBe(name === 'held' ? 1 : 0)
          expect(count.get('line') ?? 0).toBe(name === 'queued' ? 1 : 0)
          expect(count.get('slots') ?? 0).toBe(hasSlot(state) ? 1 : 0)
          expect(count.get('let go') ?? 0).toBe(name === 'over' ? 1 : 0)
          expect(count.get('settlements') ?? 0).toBeLessThanOrEqual(1)
          if (name === 'settling') expect(count.get('settlements')).toBe(1)
        }
      }),
    )
  })

  it('P4: once the lease is known to be lost, nothing is settled and nothing extended', () => {
    fc.assert(
      fc.property(fc.constantFrom(...Object.values(STATES)), anyEvents, (first, events) => {
        let [state] = step(first, { kind: 'lost' })
        if (state.name === 'settling') return // Its settlement is on its way: the fence decides.
        for (const event of events) {
          expect(holdsLease(state)).toBe(false)
          const [next, effects] = step(state, event)
          expect(effects.map(({ kind }) => kind)).not.toContain('settle')
          expect(effects.map(({ kind }) => kind)).not.toContain('conclude')
          state = next
        }
      }),
    )
  })

  it('every run ends: a deadline or two, an abandon and an answer are enough from everywhere', () => {
    for (const first of Object.values(STATES)) {
      let state = first
      for (const kind of ['due', 'give back', 'deadline', 'abandon', 'answered'] as const)
        state = step(state, { kind })[0]
      expect(state.name).toBe('over')
    }
  })
})
