/** What an operator should know: what the engine finds about itself, and what stands still in this queue. */
import { isControl } from '../../core/control.ts'
import { describe } from '../../core/errors.ts'
import { DAY_MS, formatDuration } from '../../core/input/duration.ts'
import { warning, worstFirst } from '../../store/contract/findings.ts'
import type { Finding, Store } from '../../store/contract/store.ts'
import { limitsOf, nameOfControl, pauseOf, readControls, type ControlsInForce } from '../changing/controls.ts'
import { countDueBefore } from './forecast.ts'
import { OverdueTopics, type OverdueTopic } from './overdue.ts'
import { allTopics } from './stats.ts'
import { crashesOf } from './why.ts'
import { handlersOf, readWorkers, type FoundWorker } from './workers.ts'

/** Beyond what P9 allows even when many workers die in the same moment. */
const PROBLEM_AFTER_MS = 60_000
/** Fewer crashes in a row are chance: whatever ran beside has them too. */
const SUSPECT_CRASHES_MIN = 3
const LOOKED_AT_MAX = 100
/** So many topics are told by name, each with a count of its own. */
const TOLD_MAX = 10

/** Worst first. */
export async function examine(store: Store, now: number): Promise<Finding[]> {
  const controls = await readControls(store)
  return worstFirst([
    ...(await examineOverdue(store, controls, now)),
    ...(await examinePauses(store, controls, now)),
    ...(await examineSuspects(store)),
    ...(await store.doctor()),
  ])
}

/** Somebody paused it on purpose, and may have forgotten it. */
async function examinePauses(store: Store, { all }: ControlsInForce, now: number): Promise<Finding[]> {
  const paused = all.filter((control) => control.paused !== undefined)
  const told = paused.slice(0, TOLD_MAX).map(async (control): Promise<Finding> => {
    const due = await countDueBefore(store, control.topic, now)
    const until = control.paused?.until
    const end = until === undefined ? 'until somebody resumes it' : `for another ${coarse(until - now)}`
    const count = `: ${due.isExact ? '' : 'about '}${plural(due.count, 'message')} due`
    const call = control.topic === undefined ? '"punctual resume"' : '"punctual resume TOPIC"'
    return warning(
      `${nameOfControl(control)} is paused ${end}${count}`,
      `${call} lets it go on, with "--over 10m" spread over that time`,
    )
  })
  const rest = paused.length - TOLD_MAX
  if (rest <= 0) return Promise.all(told)
  return [
    ...(await Promise.all(told)),
    warning(`${rest} more topics are paused`, '"punctual stats" names them'),
  ]
}

/** What was in hand whenever its worker died may be what killed it. Looked for among the first that wait or are dead. */
async function examineSuspects(store: Store): Promise<Finding[]> {
  const limit = Math.min(LOOKED_AT_MAX, store.capabilities.batchMax)
  const states = ['ready', 'delayed', 'dead'] as const
  const pages = await Promise.all(states.map((state) => store.inspect({ state, limit })))
  const suspects = pages
    .flatMap(({ items }) => items)
    .filter((message) => crashesOf(message) >= SUSPECT_CRASHES_MIN && !isControl(message.topic))
    .toSorted((a, b) => crashesOf(b) - crashesOf(a))
  return suspects
    .slice(0, TOLD_MAX)
    .map((message) =>
      warning(
        `message ${describe(message.id)} of topic ${describe(message.topic)} was in hand in ${crashesOf(message)} of ${message.attempt} crashes`,
        'it may be what ends its workers: look at what its handler does with it, and purge it or repair the handler',
      ),
    )
}

async function examineOverdue(store: Store, controls: ControlsInForce, now: number): Promise<Finding[]> {
  const gathered = new OverdueTopics(now)
  for await (const page of allTopics(store)) {
    for (const [topic, counts] of Object.entries(page.topics))
      if (pauseOf(controls, topic) === undefined) gathered.look(topic, counts)
  }
  let known: readonly FoundWorker[] = []
  const overdue = await gathered.sorted(async () => {
    const workers = await readWorkers(store)
    // Where nothing is shared, they live in this very process.
    if (store.capabilities.shared) known = workers
    return workers
  })
  if (overdue.length === 0) return []
  const told = await Promise.all(
    overdue.slice(0, TOLD_MAX).map((topic) => findingOf(store, controls, topic, { now, known })),
  )
  const [next] = overdue.slice(TOLD_MAX)
  if (next === undefined) return told
  const rest = overdue.length - TOLD_MAX
  const what = `${rest} more topic${rest === 1 ? ' is' : 's are'} overdue, the oldest message by ${coarse(now - next.oldestDueAt)}`
  return [
    ...told,
    { level: levelOf(next.oldestDueAt, now), what, remedy: '"punctual stats --json" names them' },
  ]
}

async function findingOf(
  store: Store,
  controls: ControlsInForce,
  { topic, oldestDueAt, workers }: OverdueTopic,
  { now, known }: { readonly now: number; readonly known: readonly FoundWorker[] },
): Promise<Finding> {
  const due = await countDueBefore(store, topic, now)
  const name = `topic ${describe(topic)}`
  const count = `${due.isExact ? '' : 'about '}${plural(due.count, 'message')} due, `
  const start = `${name} is overdue: ${count}the oldest since ${coarse(now - oldestDueAt)}`
  const level = levelOf(oldestDueAt, now)
  // Before the limit: one that no worker asks to start anything delays nothing.
  if (workers === 0) {
    return {
      level,
      what: `${start}, and no living worker handles it`,
      remedy: 'start a worker with a handler for it; if the topic is misspelt, purge its messages',
    }
  }
  if (limitsOf(controls, topic).length > 0) {
    return {
      level,
      what: `${start}, and it has a limit`,
      remedy:
        'more comes due than its limit lets start: look at "punctual stats", raise it with "punctual limit"',
    }
  }
  if (workers === undefined) {
    return { level, what: start, remedy: 'look whether a worker that handles it runs and has slots left' }
  }
  return {
    level,
    what: `${start}, and ${plural(workers, 'living worker')} handle${workers === 1 ? 's' : ''} it`,
    remedy: `its handlers take too long or too few run at once${killedText(handlersOf(topic, known) ?? [], now)}: look at "punctual workers" and at concurrency`,
  }
}

const HEARD_LATELY_MS = 5_000

/** One that was killed counts as living for two minutes more: how long it has been silent lets a person guess. */
function killedText(handlers: readonly FoundWorker[], now: number): string {
  const silentMs = Math.max(0, ...handlers.map(({ lastSeenAt }) => now - lastSeenAt))
  if (silentMs < HEARD_LATELY_MS) return ''
  const whose = handlers.length === 1 ? 'its process' : 'the process of one'
  return `, or ${whose} was killed (last heard of ${coarse(silentMs)} ago)`
}

function levelOf(dueAt: number, now: number): Finding['level'] {
  return now - dueAt >= PROBLEM_AFTER_MS ? 'problem' : 'warning'
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

const UNITS_MS = [DAY_MS, DAY_MS / 24, 60_000, 1_000]

/** Two days and more in days, two hours and more in hours, and so on. */
function coarse(ms: number): string {
  const unitMs = UNITS_MS.find((size) => ms >= 2 * size) ?? 1_000
  return formatDuration(Math.floor(ms / unitMs) * unitMs)
}
