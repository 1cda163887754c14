/** What the logs say: one line for each thing that a process is about to do, did, was told or suffered. */

/** Every line: when, by the wall clock of the one machine, and in whose log. */
type Said = { readonly at: number; readonly who: string }

export type IfExists = 'keep' | 'replace' | 'fail'

/** A call that a producer is about to make. `call` is its number; with the id it names one message for good. */
export type ProduceLine = Said & {
  readonly what: 'produce'
  readonly id: string
  readonly call: number
  readonly delay?: number
  readonly dueAt?: number
  readonly ifExists: IfExists
  readonly does: string
  readonly limit: number
  readonly ttl?: number
  readonly isCalm?: boolean
}

export type MoveLine = Said & {
  readonly what: 'cancel' | 'reschedule'
  readonly id: string
  readonly call: number
  readonly delay?: number
}

export type AnswerLine = Said & {
  readonly what: 'promised' | 'refused' | 'unknown' | 'answered'
  readonly id: string
  readonly call: number
  readonly answer?: string
  readonly code?: string
}

/** What a worker did with a message; `g` is the number of the call that produced it. */
type Attempt = Said & { readonly id: string; readonly g: number; readonly attempt: number }

export type StartLine = Attempt & { readonly what: 'start'; readonly topic?: string; readonly dueAt: number }
export type EndLine = Attempt & {
  readonly what: 'end'
  readonly how: 'done' | 'threw' | 'again' | 'gave up' | 'dies'
}
export type EventLine = Attempt & {
  readonly what: 'completed' | 'lost' | 'retrying' | 'dead'
  readonly reason?: string
  readonly maybe?: boolean
}

/** What the bookkeeper found: a dead letter, which it then purged, or something left at the very end. */
export type FoundLine = Attempt & {
  readonly what: 'buried' | 'left'
  readonly reason?: string
  readonly state: string
}

/** A pause that the store has taken, and one that is about to be taken back. */
export type PauseLine = Said & { readonly what: 'paused' | 'resuming'; readonly topic: string }

/** The problems that the engine itself sees in its store. */
export type DoctorLine = Said & { readonly what: 'doctor'; readonly problems: readonly string[] }

export type LifeLine = Said & { readonly what: 'stopping' | 'not started' }
export type StoppedLine = Said & {
  readonly what: 'stopped'
  readonly abandoned: number
  readonly errors: readonly string[]
  readonly durationMs: number
}
export type SampleLine = Said & { readonly what: 'sample' } & Readonly<Record<string, unknown>>

/** What the run did. */
export type FaultLine = Said & {
  readonly what: 'fault'
  readonly kind: string
  /** Whom it was done to: a process, the server, the disk. */
  readonly target: string
  /** Whether the store failed all processes meanwhile; else only the target suffered. */
  readonly isForAll: boolean
  readonly until: number
}
export type ExitLine = Said & {
  readonly what: 'exited'
  readonly process: string
  readonly code: number | null
  readonly signal: string | null
  /** By our own hand. */
  readonly isKilled: boolean
}

export type Line =
  | ProduceLine
  | MoveLine
  | AnswerLine
  | StartLine
  | EndLine
  | EventLine
  | FoundLine
  | PauseLine
  | DoctorLine
  | LifeLine
  | StoppedLine
  | SampleLine
  | FaultLine
  | ExitLine
