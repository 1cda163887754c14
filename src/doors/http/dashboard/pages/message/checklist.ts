/** "Why not yet?" as steps: what has to be true before a message starts, and which of it is not. Pure. */
import { openingText } from '../../../../../core/windows/words.ts'
import type { FoundControl, FoundWorker, TopicHandlers, Why, WhyAbout } from '../../../../../index.ts'
import { ago, count, dayAndTime, distance, firstLine, plural } from '../../time/words.ts'
import { wallOf } from '../../time/zone.ts'

export type Check = {
  readonly mark: 'yes' | 'no' | 'wait' | 'unknown'
  readonly text: string
}

export type ChecklistView = { readonly now: number; readonly zone: string }

/** `running`: of its topic, right now. */
type Handled = { readonly handlers?: TopicHandlers; readonly running?: number }

/** In the order in which they come to matter; the first that is not `yes` is the answer. */
export function checklistOf(why: Why, { now, zone }: ChecklistView): Check[] {
  switch (why.kind) {
    case 'unknown':
      return [no('There is no such message: it was completed, cancelled or purged, or never produced here.')]
    case 'not-due':
      return [wait(`Due ${distance(why.dueAt, now)}`), ...outsideChecks(why, now), handlersCheck(why)]
    case 'retry':
      return [
        no(
          `Attempt ${why.attempt} ${why.lapses > 0 ? 'ended without an answer' : 'failed'}: ${firstLine(why.error)}`,
        ),
        wait(`Attempt ${why.attempt + 1} is due ${distance(why.dueAt, now)}`),
        ...outsideChecks(why, now),
        ...(why.holdsKey === undefined
          ? []
          : [wait(`Its key ${why.holdsKey} waits for it: messages of this key start one after the other`)]),
        handlersCheck(why),
      ]
    case 'paused':
      return [
        yes(`Due ${distance(why.dueAt, now)}`),
        ...expiryChecks(why, now),
        ...outsideChecks(why, now),
        no(
          `${why.isWholeQueue ? 'The whole queue' : 'Its topic'} is paused` +
            (why.until === undefined
              ? ' until somebody resumes it'
              : ` until ${dayAndTime(why.until, zone)}`),
        ),
        handlersCheck(why),
      ]
    case 'no-worker':
      return [
        yes(`Due ${distance(why.dueAt, now)}`),
        ...expiryChecks(why, now),
        ...outsideChecks(why, now),
        yes('Not paused'),
        no(
          why.livingWorkers === 0
            ? 'No worker is alive: start one'
            : `No living worker handles its topic; ${plural(why.livingWorkers, 'worker')} of other topics ${why.livingWorkers === 1 ? 'is' : 'are'} alive`,
        ),
      ]
    case 'in-line':
      return [...mayStart(why, now), lineCheck(why.before, why.isExact), ...inKeyChecks(why)]
    case 'key-busy':
      return [
        // What runs is of its key, not of its topic.
        ...mayStart({ ...why, running: 0 }, now),
        no(`As many of its key ${why.key} run as may: ${count(why.running)}`),
        ...why.holders.map(({ id, since }) => wait(`${id} has been running for ${ago(since, now)}`)),
        ...inKeyChecks(why),
      ]
    case 'key-rate':
      return [
        ...mayStart(why, now),
        no(`The rate of its key ${why.key} is used up: the next may start ${distance(why.until, now)}`),
        ...inKeyChecks(why),
      ]
    case 'key-retry':
      return [
        ...mayStart(why, now),
        no(`Its key ${why.key} waits for the retry of ${why.heldBy}, due ${distance(why.until, now)}`),
        wait(
          'Messages of this key start one after the other; cancelling or moving that one lets the next start',
        ),
        ...inKeyChecks(why),
      ]
    case 'limited':
      return [
        ...mayStart(why, now),
        no(
          `A limit lets no more start: ${why.limits.map(limitWords).join('; ')}; ${count(why.running)} running`,
        ),
        lineCheck(why.before, why.isExact),
      ]
    case 'running':
      return [
        yes(`Due ${distance(why.dueAt, now)}`),
        yes(`Running for ${ago(why.since, now)}: attempt ${why.attempt}, ${whose(why.worker, why.owner)}`),
        wait(`Its lease ends ${distance(why.leaseEndsAt, now)} unless its worker extends it`),
      ]
    case 'lapsed':
      return [
        no(
          `Its worker, ${whose(why.worker, why.owner)}, gave no answer; the lease ended ${ago(why.leaseEndedAt, now)} ago`,
        ),
        why.livingWorkers === 0
          ? no('No worker is alive that could take it over: start one')
          : wait('Another worker takes it over'),
      ]
    case 'completed':
      return [
        yes(`It is done: ${why.outcome}. Its id stays taken until ${dayAndTime(why.rememberedUntil, zone)}`),
      ]
    case 'dead':
      return [
        no(`It died ${ago(why.diedAt, now)} ago: ${why.reason}`),
        ...(why.error === '' ? [] : [no(`Attempt ${why.attempt} failed: ${firstLine(why.error)}`)]),
        wait('After the repair, revive it'),
      ]
    default:
      return ofAnotherVersion(why)
  }
}

/** A server of another version may tell kinds that are not known here; the compiler names those that are, and were forgotten. */
function ofAnotherVersion(_why: never): Check[] {
  return []
}

/** It is due, and neither its moment, nor a pause, nor a lack of workers holds it back. */
function mayStart(why: WhyAbout & Handled, now: number): Check[] {
  return [
    yes(`Due ${distance(why.dueAt, now)}`),
    ...expiryChecks(why, now),
    ...outsideChecks(why, now),
    yes('Not paused'),
    handlersCheck(why),
  ]
}

function yes(text: string): Check {
  return { mark: 'yes', text }
}
function no(text: string): Check {
  return { mark: 'no', text }
}
function wait(text: string): Check {
  return { mark: 'wait', text }
}

function expiryChecks({ expired }: Pick<WhyAbout, 'expired'>, now: number): Check[] {
  if (expired === undefined) return []
  const end = expired.ifExpired === 'skip' ? 'skips it' : 'moves it to the dead letters'
  return [no(`Its ttl ended ${distance(expired.since, now)}: a worker that gets it ${end}`)]
}

function outsideChecks({ outside }: Pick<WhyAbout, 'outside'>, now: number): Check[] {
  if (outside === undefined) return []
  const { until, zone } = outside
  return [wait(`Outside its window until ${openingText(until, wallOf(until, zone), { zone, now })}`)]
}

function handlersCheck({ handlers, running: runningNow = 0 }: Handled): Check {
  if (handlers === undefined)
    return { mark: 'unknown', text: 'Not all workers tell which topics they handle' }
  const { workers, running, slots } = handlers
  if (workers === 0) return no('No living worker handles its topic')
  const handle = workers === 1 ? 'worker handles' : 'workers handle'
  // The slots are of all topics together, and up to a minute old.
  const taken =
    runningNow > 0
      ? `${count(runningNow)} of it running`
      : `${count(running)} of ${plural(slots, 'slot')} taken`
  return yes(`${count(workers)} living ${handle} its topic; ${taken}`)
}

function lineCheck(before: number, isExact: boolean): Check {
  if (before === 0) return wait('It is the next of its topic')
  return wait(`${isExact ? '' : 'About '}${plural(before, 'message')} of its topic before it`)
}

function inKeyChecks({ beforeInKey = 0 }: { readonly beforeInKey?: number }): Check[] {
  return beforeInKey === 0 ? [] : [wait(`${plural(beforeInKey, 'message')} of its key before it`)]
}

function limitWords({ limit, over }: FoundControl): string {
  const parts = [
    ...(limit?.rate === undefined ? [] : [limit.rate]),
    ...(limit?.concurrency === undefined ? [] : [`${limit.concurrency} at a time`]),
    ...(over === undefined ? [] : [`${over.rate} since it was resumed`]),
  ]
  return parts.join(', ')
}

function whose(worker: FoundWorker | undefined, owner: string): string {
  return worker?.facts === undefined ? owner : `${worker.facts.host} pid ${worker.facts.pid}`
}
