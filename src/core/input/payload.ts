/**
 * What JSON does to a payload, as types: what may be sent, and what the handler receives.
 *
 *   sent                            received
 *   Date, URL (with `toJSON`)       what `toJSON` returns: a string
 *   undefined in a list             null
 *   a function, symbol, bigint      refused by the compiler, and with it what is made of methods: Map, Set, RegExp, Promise
 *   everything else                 itself
 */

type WithToJson<Json = unknown> = { toJSON(...given: never[]): Json }
type Untouched = string | number | boolean | null | undefined
type NotData = ((...given: never[]) => unknown) | symbol | bigint

/** A payload as its handler receives it. A type that JSON leaves alone keeps its name. */
export type Received<T> = [T] extends [ReadBack<T>]
  ? [ReadBack<T>] extends [T]
    ? T
    : ReadBack<T>
  : ReadBack<T>

type ReadBack<T> = unknown extends T
  ? T
  : T extends Untouched
    ? T
    : T extends WithToJson<infer Json>
      ? ReadBack<Json>
      : T extends readonly unknown[]
        ? { [I in keyof T]: ReadBackInList<T[I]> }
        : T extends object
          ? { [P in keyof T]: ReadBack<T[P]> }
          : never

type ReadBackInList<T> = T extends undefined ? null : ReadBack<T>

/** The payload itself where it can travel; else a type that says why it cannot. */
export type Sendable<T> = [T] extends [OnlyData<T>] ? T : PayloadIsNotData

/** Functions, symbols, bigints, and what is made of methods (Map, Set, Promise…) cannot be stored as JSON. */
export type PayloadIsNotData = { readonly 'this payload has a part that JSON cannot carry': never }

type OnlyData<T> = unknown extends T
  ? T
  : T extends Untouched | WithToJson
    ? T
    : T extends NotData
      ? never
      : { [P in keyof T]: OnlyData<T[P]> }

/** The payload may be left out where `undefined` is one. */
export type PayloadField<Payload> = undefined extends Payload ? { payload?: Payload } : { payload: Payload }
