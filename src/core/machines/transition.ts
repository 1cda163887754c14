/**
 * The life of a message as a table: state x verb -> state. Engines must agree with it (the conformance suite
 * walks every cell), and the picture in `docs/states.md` is drawn from it.
 *
 *   produce ─► delayed ──due──► ready ──claim──► running ──ack──► gone
 *                 ▲               ▲  ▲              │
 *                 │               │  └───release────┤
 *                 └────retry──────┼─────────────────┤
 *                                 └──revive── dead ◄┘ dead
 *
 * `delayed` and `ready` differ only by the clock, so every verb treats them alike except `claim`.
 * A cell that is absent is refused: the verb changes nothing and says so.
 */
import type { MessageState } from '../message.ts'

export type Verb =
  | 'due'
  | 'claim'
  | 'lapse'
  | 'ack'
  | 'retry'
  | 'again'
  | 'release'
  | 'dead'
  | 'cancel'
  | 'reschedule'
  | 'revive'
  | 'purge'
export type Place = MessageState | 'gone'

/** `waiting` stands for delayed or ready, whichever the clock says. */
export type Target = Place | 'waiting'

export const TRANSITIONS: Readonly<Record<Place, Readonly<Partial<Record<Verb, Target>>>>> = {
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

export const VERBS: readonly Verb[] = [
  'due',
  'claim',
  'lapse',
  'ack',
  'retry',
  'again',
  'release',
  'dead',
  'cancel',
  'reschedule',
  'revive',
  'purge',
]

/** Where `verb` takes a message from `place`, or undefined where it must change nothing. */
export function transition(place: Place, verb: Verb): Target | undefined {
  return TRANSITIONS[place][verb]
}
