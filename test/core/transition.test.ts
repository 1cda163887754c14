import { describe, expect, it } from 'vitest'
import { MESSAGE_STATES } from '../../src/core/message.ts'
import { TRANSITIONS, transition, VERBS, type Place, type Verb } from '../../src/core/machines/transition.ts'

const PLACES: readonly Place[] = [...MESSAGE_STATES, 'gone']

/** The whole table once more, by hand: a change of the table must be meant. */
const EXPECTED: Record<Place, Partial<Record<Verb, string>>> = {
  delayed: { due: 'ready', cancel: 'gone', reschedule: 'waiting', purge: 'gone' },
  ready: { claim: 'running', cancel: 'gone', reschedule: 'waiting', purge: 'gone' },
  running: {
    lapse: 'running',
    ack: 'gone',
    retry: 'waiting',
    again: 'waiting',
    release: 'waiting',
    dead: 'dead',
  },
  dead: { revive: 'ready', purge: 'gone' },
  gone: {},
}

describe('the transition table', () => {
  for (const place of PLACES) {
    for (const verb of VERBS) {
      it(`${verb} on ${place}`, () => expect(transition(place, verb)).toBe(EXPECTED[place][verb]))
    }
  }

  it('knows no place and no verb beyond these', () => {
    expect(Object.keys(TRANSITIONS).toSorted()).toEqual([...PLACES].toSorted())
    const used = new Set(Object.values(TRANSITIONS).flatMap((row) => Object.keys(row)))
    expect([...used].toSorted()).toEqual([...VERBS].toSorted())
  })

  it('P2: every place can be left, and from every place a message can end', () => {
    const reaches = (from: Place, seen = new Set<Place>()): Set<Place> => {
      if (seen.has(from)) return seen
      seen.add(from)
      for (const to of Object.values(TRANSITIONS[from])) {
        for (const next of to === 'waiting' ? (['delayed', 'ready'] as const) : [to]) reaches(next, seen)
      }
      return seen
    }
    for (const place of PLACES) expect(reaches(place).has('gone')).toBe(true)
  })
})
