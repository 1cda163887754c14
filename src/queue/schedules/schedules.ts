/**
 * Schedules as users hold them. Each is one message of our own at the store; a worker fires its occurrences
 * (`runtime/schedules`). Every change here is made on what was read: if a worker or another process changed the schedule
 * meanwhile, it is read again. A change seizes the schedule, so that a worker that is just deciding by the old one
 * stores nothing.
 */
import { SCHEDULES_TOPIC } from '../../core/control.ts'
import { InvariantError } from '../../core/errors.ts'
import { parseInteger } from '../../core/input/checks.ts'
import { parseList, type ParsedList } from '../../core/input/questions.ts'
import {
  afterWithdrawal,
  placedAhead,
  takenBack,
  withRhythm,
  type Withdrawal,
} from '../../core/recurrence/edits.ts'
import { begun, recurrenceOf } from '../../core/recurrence/firing.ts'
import {
  checkNewScheduleName,
  checkScheduleName,
  decodeSchedule,
  encodeSchedule,
  hasSameRhythm,
  isSamePlan,
  keepPhase,
  NEW_PROGRESS,
  occurrenceId,
  parseSpec,
  scheduleId,
  scheduleName,
  type SchedulePlan,
  type ScheduleProgress,
  type ScheduleSpec,
  type StoredSchedule,
} from '../../core/recurrence/spec.ts'
import type { NewMessage, Store } from '../../store/contract/store.ts'
import { checkedMessage } from '../draft.ts'
import { describeSchedule, type FoundSchedule, type SchedulePage } from './found-schedule.ts'
import { list, type FoundMessage, type MessagePage } from '../looking/inspection.ts'
import type { Settings } from '../settings.ts'
import type { PayloadIn, TopicName } from '../topics.ts'

export type SetResult = 'created' | 'changed' | 'unchanged'

/** So many changes of others in a row do not come about by chance: something is wrong. */
const TRIES_MAX = 100
const OCCURRENCES_MAX = 10_000
const NEXT_DEFAULT = 10
/** A schedule is under way for milliseconds, and so is a list. */
const LISTS_MAX = 20

type Change = { readonly before: StoredSchedule | undefined; readonly isChanged: boolean }

type ReadSchedule = StoredSchedule & {
  /** As it is stored. */
  readonly body: string
}

export class Schedules<T extends object, S extends object> {
  readonly #settings: Settings
  readonly #open: () => Promise<Store>

  constructor(settings: Settings, open: () => Promise<Store>) {
    this.#settings = settings
    this.#open = open
  }

  /**
   * Makes a schedule, or changes it. The same again has no effect, so that every process may say it when it starts.
   * What falls due within the next 90 seconds is already placed: with the same rhythm it stays as it was; with another
   * rhythm it is withdrawn.
   */
  async set<K extends TopicName<T, S>>(
    name: string,
    spec: { [Topic in K]: ScheduleSpec<Topic, PayloadIn<T, S, Topic>> }[K],
  ): Promise<SetResult> {
    const checked = checkNewScheduleName(name)
    const plan = await this.#parse(spec)
    const now = Math.floor(this.#settings.clock.now())
    const { before, isChanged } = await this.#change(checked, (found) => {
      if (found === undefined || isRemoved(found))
        return { plan, progress: { ...NEW_PROGRESS, ...untilOf(found) } }
      const inPhase = keepPhase(plan, found.plan, now)
      return isSamePlan(inPhase, found.plan)
        ? undefined
        : { plan: inPhase, progress: withRhythm(inPhase, found, now) }
    })
    if (before === undefined || isRemoved(before)) return 'created'
    if (!isChanged) return 'unchanged'
    if (!hasSameRhythm(keepPhase(plan, before.plan, now), before.plan))
      await this.#replace(checked, placedAhead(before, now))
    return 'changed'
  }

  /** One page of them. */
  async list(options: { limit?: number; cursor?: string } = {}): Promise<SchedulePage> {
    const now = this.#settings.clock.now()
    const { items: found, cursor, missing } = await this.#page(parseList({ ...options }, now))
    const items: FoundSchedule[] = []
    for (const { id, payload, dueAt } of found) {
      const schedule = decodeSchedule(payload)
      if (schedule === undefined || isRemoved(schedule)) continue
      items.push(describeSchedule(scheduleName(id), schedule, { now, changedAt: dueAt }))
    }
    return {
      items,
      ...(cursor === undefined ? {} : { cursor }),
      ...(missing === undefined ? {} : { missing }),
    }
  }

  /**
   * A list walks from state to state, and passes over what goes from one to the other meanwhile; a schedule does whenever
   * a worker looks at it. So where one page holds them all, it is compared with their count.
   */
  async #page(asked: ParsedList): Promise<MessagePage> {
    const store = await this.#open()
    const seen = new Map<string, FoundMessage>()
    for (let tries = 1; ; tries += 1) {
      const page = await list(store, { ...asked, search: { topic: SCHEDULES_TOPIC } })
      const isWhole = !('cursor' in asked && asked.cursor !== undefined) && page.cursor === undefined
      if (!isWhole || page.missing !== undefined) return page
      for (const one of page.items) seen.set(one.id, one)
      const { topics } = await store.countTopics({ topics: [SCHEDULES_TOPIC] })
      const { waiting = 0, running = 0, dead = 0 } = topics[SCHEDULES_TOPIC] ?? {}
      if (seen.size >= waiting + running + dead || tries === LISTS_MAX)
        return { ...page, items: [...seen.values()] }
    }
  }

  async get(name: string): Promise<FoundSchedule | undefined> {
    const checked = checkScheduleName(name)
    const found = await this.#read(await this.#open(), checked)
    const now = this.#settings.clock.now()
    if (found === undefined || isRemoved(found)) return undefined
    return describeSchedule(checked, found, { now, changedAt: now })
  }

  /** Ends it. Occurrences that wait for their moment are withdrawn. */
  async remove(name: string): Promise<'removed' | 'missing'> {
    const checked = checkScheduleName(name)
    const { before, isChanged } = await this.#takeBack(checked, { isRemoved: true })
    return before === undefined || !isChanged ? 'missing' : 'removed'
  }

  /** Until it is resumed, its occurrences are skipped and counted. Those that wait for their moment are withdrawn. */
  async pause(name: string): Promise<'paused' | 'missing'> {
    const { before } = await this.#takeBack(checkScheduleName(name), { isPaused: true })
    return before === undefined || isRemoved(before) ? 'missing' : 'paused'
  }

  async resume(name: string): Promise<'resumed' | 'missing'> {
    const { before } = await this.#change(checkScheduleName(name), (found) =>
      found === undefined || isRemoved(found) || !found.progress.isPaused
        ? undefined
        : { plan: found.plan, progress: { ...found.progress, isPaused: false, change: 'resumed' } },
    )
    return before === undefined || isRemoved(before) ? 'missing' : 'resumed'
  }

  /** When a schedule would fire from now on, whether it exists or not: epoch milliseconds, by this machine's clock. */
  async nextOccurrences<K extends TopicName<T, S>>(
    which: string | { [Topic in K]: ScheduleSpec<Topic, PayloadIn<T, S, Topic> | undefined> }[K],
    count: number = NEXT_DEFAULT,
  ): Promise<number[]> {
    const max = parseInteger(count, 'count', { min: 1, max: OCCURRENCES_MAX })
    const now = this.#settings.clock.now()
    if (typeof which !== 'string') {
      const plan = await this.#parse(which)
      return recurrenceOf(plan, NEW_PROGRESS, now).between(now, Infinity, Math.min(max, plan.times ?? max))
    }
    const found = await this.#read(await this.#open(), checkScheduleName(which))
    if (found === undefined || isRemoved(found)) return []
    const { plan, progress } = found
    const left = (plan.times ?? Infinity) - progress.fired
    return recurrenceOf(plan, progress, now).between(now, Infinity, Math.min(max, left))
  }

  async #parse(spec: unknown): Promise<SchedulePlan> {
    const { clock, windows } = this.#settings
    const parsed = parseSpec(spec, { now: clock.now(), book: windows })
    const { topic, payload } = spec as { topic?: unknown; payload?: unknown }
    return { ...(await checkedMessage(this.#settings, topic, payload)), ...parsed }
  }

  /** Removes or pauses it, unless it is already, and takes back what lies ahead. */
  async #takeBack(
    name: string,
    change: { readonly isRemoved: true } | { readonly isPaused: true },
  ): Promise<Change> {
    const now = Math.floor(this.#settings.clock.now())
    const changed = await this.#change(name, (found) =>
      found === undefined || isRemoved(found) || ('isPaused' in change && found.progress.isPaused)
        ? undefined
        : { plan: found.plan, progress: { ...takenBack(found, now), ...change } },
    )
    const { before, isChanged } = changed
    if (before === undefined || !isChanged) return changed
    const withdrawal = await this.#withdraw(name, placedAhead(before, now))
    await this.#recount(name, (found) => afterWithdrawal(found, withdrawal))
    return changed
  }

  /**
   * Withdraws what the rhythm before has placed, but for moments that the new one has as well: a worker may have placed
   * those again, and its message is the same. If we die before, they fire once more.
   */
  async #replace(name: string, placed: readonly number[]): Promise<void> {
    const [first, last] = [placed[0], placed.at(-1)]
    if (first === undefined || last === undefined) return
    const current = await this.#read(await this.#open(), name)
    if (current === undefined || isRemoved(current)) return
    const shared = new Set(
      recurrenceOf(current.plan, current.progress, first).between(first - 1, last, OCCURRENCES_MAX),
    )
    const { gone, kept } = await this.#withdraw(
      name,
      placed.filter((at) => !shared.has(at)),
    )
    const uncounted = placed.length - gone.length
    await this.#recount(name, ({ plan, progress }) => {
      const { fired, skipped } = progress
      const counted = { ...progress, fired: fired + kept.length, skipped: skipped - uncounted }
      return (
        afterWithdrawal({ plan, progress: counted }, { gone, kept: [] }) ??
        (uncounted === 0 ? undefined : counted)
      )
    })
  }

  /** What was counted before it was done may have turned out otherwise. */
  async #recount(
    name: string,
    decide: (found: StoredSchedule) => ScheduleProgress | undefined,
  ): Promise<void> {
    await this.#change(name, (found) => {
      const progress = found === undefined ? undefined : decide(found)
      return found === undefined || progress === undefined ? undefined : { plan: found.plan, progress }
    })
  }

  /** Reads, decides, and stores unless another process was faster. `decide` answers undefined to leave it as it is. */
  async #change(
    name: string,
    decide: (found: StoredSchedule | undefined) => StoredSchedule | undefined,
  ): Promise<Change> {
    const store = await this.#open()
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      const before = await this.#read(store, name)
      const after = decide(before)
      if (after === undefined) return { before, isChanged: false }
      const body = encodeSchedule(after)
      const how = before === undefined ? ({ ifExists: 'keep' } as const) : seizing(before.body)
      const when = removalMoment(before, after) ?? { delayMs: 0 }
      const message = {
        id: scheduleId(name),
        topic: SCHEDULES_TOPIC,
        body,
        meta: '',
        priority: 0,
        when,
      } as const
      const [result] = await store.put([{ ...message, ...how }])
      if (result === 'stored' || result === 'replaced') return { before, isChanged: true }
    }
    throw new InvariantError(`the schedule "${name}" was changed by others ${TRIES_MAX} times in a row`)
  }

  async #read(store: Store, name: string): Promise<ReadSchedule | undefined> {
    const [found] = (await store.inspect({ ids: [scheduleId(name)] })).items
    if (found === undefined) return undefined
    const schedule = decodeSchedule(JSON.parse(found.body))
    if (schedule === undefined)
      throw new InvariantError(`the schedule "${name}" was stored by another version of punctual`)
    return { ...begun(schedule, found.firstDueAt), body: found.body }
  }

  async #withdraw(name: string, moments: readonly number[]): Promise<Withdrawal> {
    const store = await this.#open()
    const { batchMax } = store.capabilities
    const [gone, kept]: [number[], number[]] = [[], []]
    for (let from = 0; from < moments.length; from += batchMax) {
      const part = moments.slice(from, from + batchMax)
      const results = await store.remove(
        part.map((at) => occurrenceId(name, at)),
        'waiting',
      )
      for (const [i, at] of part.entries()) (results[i] === 'removed' ? gone : kept).push(at)
    }
    return { gone, kept }
  }
}

function seizing(ifBody: string): Pick<NewMessage, 'ifExists' | 'ifBody'> {
  return { ifExists: 'seize', ifBody }
}

function isRemoved({ progress }: StoredSchedule): boolean {
  return progress.isRemoved === true
}

/** What was removed is forgotten when all that it placed is over: until then it keeps others from placing it again. */
function removalMoment(
  before: StoredSchedule | undefined,
  after: StoredSchedule,
): { at: number } | undefined {
  if (!isRemoved(after)) return undefined
  const { until = 0 } = after.progress
  return { at: Math.max(until, before?.progress.until ?? until) + 1 }
}

function untilOf(found: StoredSchedule | undefined): Pick<ScheduleProgress, 'until'> {
  return found?.progress.until === undefined ? {} : { until: found.progress.until }
}
