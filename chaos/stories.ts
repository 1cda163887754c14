/** The lines of all logs, gathered by what they are about: each message, each id, each process. */
import type {
  AnswerLine,
  EndLine,
  EventLine,
  ExitLine,
  FaultLine,
  FoundLine,
  Line,
  MoveLine,
  ProduceLine,
  SampleLine,
  StartLine,
  StoppedLine,
} from './lines.ts'

/** A call and what became of it. `open`: its maker died before he wrote an answer; the same as unknown. */
export type Outcome = 'promised' | 'refused' | 'answered' | 'unknown' | 'open'

/** One message: what one `produce` asked for. An id can have several, one after the other. */
export type Message = {
  readonly id: string
  readonly asked: ProduceLine
  outcome: Outcome
  /** When the answer was written; the end of time when its effect is unknown, because it may still come. */
  answeredAt: number
  refusal: string | undefined
  readonly starts: StartLine[]
  readonly ends: EndLine[]
  readonly events: EventLine[]
  readonly found: FoundLine[]
}

export type Move = {
  readonly asked: MoveLine
  outcome: Outcome
  answer: string | undefined
  answeredAt: number
}

/** Everything about one id. */
export type Identity = { readonly messages: Message[]; readonly moves: Move[] }

export type ProcessStory = {
  stoppingAt: number | undefined
  stopped: StoppedLine | undefined
  exit: ExitLine | undefined
  /** A handler killed it, and said so before. */
  isPoisoned: boolean
  readonly samples: SampleLine[]
}

export type Stories = {
  readonly identities: ReadonlyMap<string, Identity>
  readonly processes: ReadonlyMap<string, ProcessStory>
  readonly faults: readonly FaultLine[]
  /** Lines about messages that no producer announced. */
  readonly strangers: readonly (StartLine | FoundLine)[]
  /** Of the store's doctor. */
  readonly complaints: readonly string[]
  readonly pauses: readonly Pause[]
}

/** From the moment when the call resolved until somebody was about to end it. */
export type Pause = { readonly topic: string; readonly from: number; until: number }

export const NEVER = Number.POSITIVE_INFINITY

export function gather(lines: readonly Line[]): Stories {
  const identities = new Map<string, Identity>()
  const processes = new Map<string, ProcessStory>()
  const faults: FaultLine[] = []
  const complaints: string[] = []
  const pauses: Pause[] = []
  const strangers: (StartLine | FoundLine)[] = []
  const later: (StartLine | EndLine | EventLine | FoundLine)[] = []

  const identity = (id: string): Identity => upsert(identities, id, () => ({ messages: [], moves: [] }))
  const processOf = (who: string): ProcessStory =>
    upsert(processes, who, () => ({
      stoppingAt: undefined,
      stopped: undefined,
      exit: undefined,
      isPoisoned: false,
      samples: [],
    }))

  for (const line of lines) {
    if (line.what === 'end' && line.how === 'dies') processOf(line.who).isPoisoned = true
    switch (line.what) {
      case 'produce':
        identity(line.id).messages.push(newMessage(line))
        break
      case 'cancel':
      case 'reschedule':
        identity(line.id).moves.push({
          asked: line,
          outcome: 'open',
          answer: undefined,
          answeredAt: NEVER,
        })
        break
      case 'promised':
      case 'refused':
      case 'unknown':
      case 'answered':
        conclude(identity(line.id), line)
        break
      case 'start':
      case 'end':
      case 'completed':
      case 'lost':
      case 'retrying':
      case 'dead':
      case 'buried':
      case 'left':
        later.push(line) // A worker's log may be read before that of the producer.
        break
      case 'stopping':
        processOf(line.who).stoppingAt = line.at
        break
      case 'stopped':
        processOf(line.who).stopped = line
        break
      case 'exited':
        processOf(line.process).exit = line
        break
      case 'sample':
        processOf(line.who).samples.push(line)
        break
      case 'fault':
        faults.push(line)
        break
      case 'doctor':
        complaints.push(...line.problems)
        break
      case 'paused':
        pauses.push({ topic: line.topic, from: line.at, until: NEVER })
        break
      case 'resuming':
        for (const pause of pauses)
          if (pause.topic === line.topic && pause.until === NEVER) pause.until = line.at
        break
      case 'not started':
        break
    }
  }
  for (const line of later) {
    const message = identities.get(line.id)?.messages.find(({ asked }) => asked.call === line.g)
    if (message !== undefined) enter(message, line)
    else if (line.what === 'start' || line.what === 'buried' || line.what === 'left') strangers.push(line)
  }
  for (const { messages } of identities.values())
    for (const { starts } of messages) starts.sort((a, b) => a.at - b.at)
  return { identities, processes, faults, strangers, complaints, pauses }
}

function newMessage(asked: ProduceLine): Message {
  return {
    id: asked.id,
    asked,
    outcome: 'open',
    answeredAt: NEVER,
    refusal: undefined,
    starts: [],
    ends: [],
    events: [],
    found: [],
  }
}

function conclude({ messages, moves }: Identity, line: AnswerLine): void {
  const message = messages.find(({ asked }) => asked.call === line.call)
  const move = moves.find(({ asked }) => asked.call === line.call)
  if (message !== undefined) {
    message.outcome = line.what
    if (line.what !== 'unknown') message.answeredAt = line.at
    message.refusal = line.code
  }
  if (move !== undefined) {
    move.outcome = line.what
    move.answer = line.answer
    if (line.what !== 'unknown') move.answeredAt = line.at
  }
}

function enter(message: Message, line: StartLine | EndLine | EventLine | FoundLine): void {
  switch (line.what) {
    case 'start':
      message.starts.push(line)
      return
    case 'end':
      message.ends.push(line)
      return
    case 'buried':
    case 'left':
      message.found.push(line)
      return
    default:
      message.events.push(line)
  }
}

function upsert<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const found = map.get(key)
  if (found !== undefined) return found
  const made = make()
  map.set(key, made)
  return made
}
