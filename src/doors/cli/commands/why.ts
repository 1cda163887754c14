import { assertNever, describe } from '../../../core/errors.ts'
import { openingText } from '../../../core/windows/words.ts'
import { zoneOf } from '../../../core/windows/zone.ts'
import type {
  FoundControl,
  FoundWorker,
  TopicHandlers,
  Why,
  WhyAbout,
  WhyOutside,
  WhyPaused,
} from '../../../index.ts'
import { defineCommand, type Call } from '../command.ts'
import { EXIT } from '../../shared/failure.ts'
import { formatDistance, formatSpan, plural } from '../terminal/format.ts'
import { formatMoment } from '../../shared/moment.ts'
import { firstLine, printable } from '../../shared/printable.ts'
import { CALENDAR_OPTIONS, readCalendars } from '../values.ts'
import { wrap } from '../terminal/width.ts'
import { limitText } from './limit.ts'
import { inSeconds, workerName } from './workers.ts'

const HEARD_LATELY_MS = 5_000

export const why = defineCommand({
  name: 'why',
  summary: 'say why a message has not started, or what became of it',
  operands: 'ID',
  arity: [1, 1],
  options: CALENDAR_OPTIONS,
  examples: [
    ['punctual why order-42', 'it should have run by now'],
    ['punctual why order-42 --json | jq -r .kind', 'one word, for a program'],
  ],
  notes: ['The exit code is 1 if there is no such message.'],
  makesStore: false,
  run: async (call) => {
    const [id = ''] = call.positionals
    const reason = await call.open(readCalendars(call.values)).why(id)
    const isKnown = reason.kind !== 'unknown'
    if (call.json) call.out.json(reason)
    else {
      const [first = '', ...rest] = explain(call, reason)
      const stream = isKnown ? call.out : call.err
      const lines = (text: string): string[] => (stream.isTerminal ? wrap(text, stream.columns) : [text])
      for (const line of lines(first)) stream.line(line)
      for (const line of rest.flatMap(lines)) stream.line(stream.style.dim(line))
    }
    return isKnown ? EXIT.fine : EXIT.failed
  },
})

/** The answer, then what else is worth knowing. */
function explain({ clock, queueName }: Call, reason: Why): string[] {
  const now = clock.now()
  const id = printable(reason.id)
  const when = (at: number): string => `${formatMoment(at)} (${formatDistance(at, now)})`
  const ago = (at: number): string => formatSpan(Math.max(0, now - at))
  switch (reason.kind) {
    case 'unknown':
      return [
        `${id}: there is no such message in queue "${queueName}"`,
        'It was completed, cancelled or purged, or was never produced here.',
        'What became of a message is kept for those that were produced with "remember".',
      ]
    case 'not-due':
      return [
        reason.outside === undefined || reason.dueAt > reason.outside.until
          ? `${id} is not due yet: ${when(reason.dueAt)}`
          : `${id} is ${outsideText(reason.outside, now)}`,
        ...pausedLine(reason),
        ...handlersLine(reason, now),
      ]
    case 'retry':
      return [
        `${id} waits for attempt ${reason.attempt + 1}: ${when(reason.dueAt)}`,
        `Attempt ${reason.attempt} ${reason.lapses > 0 ? 'ended without an answer' : 'failed'}: ${firstLine(reason.error)}`,
        ...outsideLine(reason, now),
        ...crashLine(reason),
        ...(reason.holdsKey === undefined
          ? []
          : [`Key ${describe(reason.holdsKey)} waits for it: its messages start one after the other.`]),
        ...pausedLine(reason),
        ...handlersLine(reason, now),
      ]
    case 'paused':
      return [
        `${id} has been due for ${ago(reason.dueAt)}, and ${pausedText(reason, reason.topic)} is paused`,
        reason.until === undefined
          ? `"punctual resume${reason.isWholeQueue ? '' : ' TOPIC'}" lets it start.`
          : `It goes on ${when(reason.until)}.`,
        ...expiredLine(reason, now),
        ...outsideLine(reason, now),
        ...handlersLine(reason, now),
      ]
    case 'limited':
      return [
        `${id} has been due for ${ago(reason.dueAt)}, and ${lineText(reason)}, which has a limit`,
        ...reason.limits.map(
          (control) => `${limitLine(control)} ${reason.running} of ${describe(reason.topic)} run.`,
        ),
        ...expiredLine(reason, now),
        ...outsideLine(reason, now),
        ...handlersLine(reason, now),
        ...killedLine(reason, now),
      ]
    case 'key-busy':
      return [
        `${id} has been due for ${ago(reason.dueAt)}, and as many of key ${describe(reason.key)} run as may: ${reason.running}`,
        ...reason.holders.map((one) => `${printable(one.id)} has been running for ${ago(one.since)}.`),
        ...keyLine(reason),
        ...handlersLine(reason, now),
      ]
    case 'key-rate':
      return [
        `${id} has been due for ${ago(reason.dueAt)}, and the rate of key ${describe(reason.key)} is used up: it goes on ${when(reason.until)}`,
        ...keyLine(reason),
        ...handlersLine(reason, now),
      ]
    case 'key-retry':
      return [
        `${id} has been due for ${ago(reason.dueAt)}, and key ${describe(reason.key)} waits for the retry of ${printable(reason.heldBy)}: ${when(reason.until)}`,
        'Messages of this key start one after the other; cancelling or rescheduling that one lets the next start.',
        ...keyLine(reason),
        ...handlersLine(reason, now),
      ]
    case 'no-worker':
      return [
        `${id} has been due for ${ago(reason.dueAt)}, and no living worker handles ${describe(reason.topic)}`,
        reason.livingWorkers === 0
          ? 'No worker is alive at all: start one.'
          : `${plural(reason.livingWorkers, 'worker')} of other topics ${reason.livingWorkers === 1 ? 'is' : 'are'} alive: see "punctual workers".`,
        ...expiredLine(reason, now),
        ...outsideLine(reason, now),
      ]
    case 'in-line':
      return [
        `${id} has been due for ${ago(reason.dueAt)}, and ${lineText(reason)}`,
        ...keyLine(reason),
        ...runningLine(reason),
        ...expiredLine(reason, now),
        ...outsideLine(reason, now),
        ...handlersLine(reason, now),
        ...killedLine(reason, now),
      ]
    case 'running':
      return [
        `${id} has been running for ${ago(reason.since)}: attempt ${reason.attempt}, ${byText(reason)}`,
        `Its lease ends ${formatDistance(reason.leaseEndsAt, now)} unless its worker extends it.`,
        ...workerLine(reason.worker, now),
      ]
    case 'lapsed':
      return [
        `${id} waits to be taken over: its lease ended ${ago(reason.leaseEndedAt)} ago`,
        `Attempt ${reason.attempt}, run ${byText(reason)}, ended without an answer.`,
        ...workerLine(reason.worker, now),
        ...(reason.livingWorkers === 0 ? ['No worker is alive that could: start one.'] : []),
      ]
    case 'completed':
      return [
        `${id} is done: ${reason.outcome}`,
        `Its id stays taken until ${when(reason.rememberedUntil)}; "punctual purge ID" frees it.`,
      ]
    case 'dead':
      return [
        `${id} is dead since ${when(reason.diedAt)}: ${printable(reason.reason)}`,
        ...(reason.error === '' ? [] : [`Attempt ${reason.attempt} failed: ${firstLine(reason.error)}`]),
        ...crashLine(reason),
        'After the repair, "punctual revive ID" starts it anew.',
      ]
    default:
      return assertNever(reason)
  }
}

/** One crash says nothing of the messages that were in hand. */
function crashLine({ attempt, lapses }: Extract<Why, { kind: 'retry' | 'dead' }>): string[] {
  if (lapses < 2) return []
  return [`It was in hand in ${lapses} of ${attempt} crashes: it may be what ends its workers.`]
}

function limitLine({ topic, limit, over }: FoundControl): string {
  const parts = [
    ...(limit === undefined ? [] : [limitText(limit)]),
    ...(over === undefined ? [] : [`${over.rate} until ${formatMoment(over.until)}, since it was resumed`]),
  ]
  return `${topic === undefined ? 'The whole queue' : 'The topic'}: ${parts.join('; ')}.`
}

function lineText({ topic, before, isExact }: Extract<Why, { kind: 'in-line' | 'limited' }>): string {
  if (before === 0) return `is the next of ${describe(topic)}`
  const about = isExact ? '' : 'about '
  return `${about}${plural(before, 'message')} of ${describe(topic)} ${before === 1 ? 'is' : 'are'} before it`
}

function keyLine({
  key,
  beforeInKey = 0,
}: {
  readonly key?: string
  readonly beforeInKey?: number
}): string[] {
  if (key === undefined || beforeInKey === 0) return []
  return [
    `${plural(beforeInKey, 'message')} of key ${describe(key)} ${beforeInKey === 1 ? 'is' : 'are'} before it.`,
  ]
}

function pausedText({ isWholeQueue }: WhyPaused, topic: string): string {
  return isWholeQueue ? 'the whole queue' : describe(topic)
}

function pausedLine({ paused, topic }: WhyAbout & { readonly paused?: WhyPaused }): string[] {
  if (paused === undefined) return []
  const until = paused.until === undefined ? '' : ` until ${formatMoment(paused.until)}`
  return [`Besides, ${pausedText(paused, topic)} is paused${until}.`]
}

function expiredLine({ expired }: WhyAbout, now: number): string[] {
  if (expired === undefined) return []
  const end = expired.ifExpired === 'skip' ? 'skips it' : 'moves it to the dead letters'
  return [
    `Its ttl ended ${formatDistance(expired.since, now)}: a worker that gets it ${end} without running it.`,
  ]
}

function outsideText({ until, zone }: WhyOutside, now: number): string {
  return `outside its window until ${openingText(until, zoneOf(zone).wallOf(until), { zone, now })}`
}

function outsideLine({ outside }: WhyAbout, now: number): string[] {
  return outside === undefined ? [] : [`It is ${outsideText(outside, now)}.`]
}

function runningLine({ topic, running }: Extract<Why, { kind: 'in-line' }>): string[] {
  if (running === 0) return []
  const run = `${plural(running, 'message')} of ${describe(topic)} ${running === 1 ? 'runs' : 'run'} right now`
  return [`${run}: it waits for a free slot of its handler ("concurrency"), or of its worker.`]
}

type HandledWhy = WhyAbout & { readonly handlers?: TopicHandlers; readonly running?: number }

function handlersLine({ topic, handlers, running: runningNow = 0 }: HandledWhy, now: number): string[] {
  if (handlers === undefined) return []
  const { workers, running, slots } = handlers
  if (workers === 0) return [`No living worker handles ${describe(topic)} at the moment.`]
  const [handle, whose] = workers === 1 ? ['handles', 'its'] : ['handle', 'their']
  // Of all topics together, and up to a minute old: what runs of this topic right now says more.
  const taken = runningNow > 0 ? '' : `; ${running} of ${whose} ${plural(slots, 'slot')} were taken`
  const heardAt = heardLongAgo(handlers, now)
  const heard = heardAt === undefined ? '' : `, last heard of ${formatDistance(heardAt, now)}`
  return [`${plural(workers, 'living worker')} ${handle} ${describe(topic)}${heard}${taken}.`]
}

function heardLongAgo({ lastSeenAt = Infinity }: TopicHandlers, now: number): number | undefined {
  const heardAt = inSeconds(Math.min(lastSeenAt, now), now)
  return now - heardAt < HEARD_LATELY_MS ? undefined : heardAt
}

/** One that was killed counts for two minutes more: how long it has been silent lets a person guess. */
function killedLine({ handlers }: HandledWhy, now: number): string[] {
  if (handlers === undefined || handlers.workers === 0) return []
  if (heardLongAgo(handlers, now) === undefined) return []
  const who = handlers.workers === 1 ? 'Its process' : 'Their processes'
  return [`${who} may have been killed since, which shows after two minutes: see "punctual workers".`]
}

function byText({ owner, worker }: { readonly owner?: string; readonly worker?: FoundWorker }): string {
  if (worker !== undefined) return `by ${workerName(worker)}`
  return owner === undefined ? 'by a worker that the engine does not name' : `by ${printable(owner)}`
}

function workerLine(worker: FoundWorker | undefined, now: number): string[] {
  if (worker === undefined || worker.state === 'alive') return []
  const { state, lastSeenAt, goneAt } = worker
  return [`Its worker is ${state}, last seen ${formatDistance(goneAt ?? lastSeenAt, now)}.`]
}
