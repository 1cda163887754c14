/** What users do with a queue, at random: each action goes through the public API of some living process. */
import { isControl } from '../../src/core/control.ts'
import { UnavailableError, UsageError } from '../../src/core/errors.ts'
import type { ProduceOptions } from '../../src/core/input/request.ts'
import type { Queue } from '../../src/queue/queue.ts'
import type { Chance } from './chance.ts'
import { actOnControls } from './control-actions.ts'
import type { Host } from './host.ts'
import type { SimulatedProcess } from './process.ts'
import { KeyActions } from './key-actions.ts'
import { MISFIT } from './schemas.ts'
import { BEGINS_AT, type World } from './world.ts'

export type ActionKind =
  | 'produce'
  | 'produce many'
  | 'produce again'
  | 'cancel'
  | 'reschedule'
  | 'revive'
  | 'revive all'
  | 'purge'
  | 'purge all'
  | 'look'
  | 'many at once'
  | 'produce misfit'
  | 'set schedule'
  | 'cancel running'
  | 'change by tag'
  | 'control'
  | 'flood'
  | 'change by key'
  | 'control keys'

type SingleKind = Exclude<ActionKind, 'many at once'>

/** How many actions share one turn of the event loop, and of which kinds: those that wake sleepers. */
const MANY = 4
const CHANGES = ['produce', 'produce many', 'produce again', 'reschedule', 'revive all'] as const

/** Longer than any simulation. */
const CATCH_UP_MS = 365 * 86_400_000
const TAGS = ['red', 'blue', 'red and blue'] as const

/** How many of the ids are drawn from a small set, so that they meet again. */
const OWN_IDS = 30

export class Actions {
  readonly #world: World
  readonly #hosts: readonly Host[]
  readonly #chance: Chance
  /** For what was added later, so that a seed keeps the rest of what it does. */
  readonly #more: Chance
  readonly #edits: Chance
  readonly #keyed: KeyActions
  readonly #windows: Chance
  #produced = 0

  constructor(world: World, hosts: readonly Host[]) {
    this.#world = world
    this.#hosts = hosts
    this.#chance = world.chance.stream('actions')
    this.#more = world.chance.stream('more actions')
    this.#edits = world.chance.stream('edits of schedules')
    this.#keyed = new KeyActions(world, world.chance.stream('keys'))
    this.#windows = world.chance.stream('windows')
  }

  /** Spreads them over the storm. */
  plan(): void {
    const { plan, timeline } = this.#world
    for (let i = 0; i < plan.actions; i += 1)
      timeline.after(this.#chance.next() * plan.stormMs, undefined, () => this.#act())
  }

  #act(): void {
    const process = this.#chance.pick(this.#hosts)?.process
    if (process === undefined || process.frozenUntil > this.#world.timeline.now) return
    const kind = this.#chance.weighted(this.#world.plan.actionKinds)
    this.#world.tally.actions += 1
    process.rate.allow(3)
    this.#world.history.note(process.name, () => `(${kind})`)
    if (kind === 'many at once') {
      process.rate.allow(3 * MANY)
      for (let i = 0; i < MANY; i += 1) this.#begin(this.#chance.pick(CHANGES), process)
    } else this.#begin(kind, process)
  }

  #begin(kind: SingleKind, process: SimulatedProcess): void {
    this.#perform(kind, process).catch((error: unknown) => this.#judge(kind, process, error))
  }

  /** Only what a caller can do something about may come back. */
  #judge(kind: ActionKind, process: SimulatedProcess, error: unknown): void {
    this.#world.history.note(process.name, () => `(${kind}) fails: ${String(error)}`)
    if (error instanceof UnavailableError) return
    const expected = ['QUEUE_STOPPED', 'ID_EXISTS']
    if (error instanceof UsageError && expected.includes(error.code)) return
    this.#world.violations.add('P5', `${process.name}: ${kind} rejects with ${String(error)}`)
  }

  async #perform(kind: SingleKind, process: SimulatedProcess): Promise<void> {
    const { queue } = process
    switch (kind) {
      case 'produce':
        return this.#produce(queue, this.#options())
      case 'produce many':
        return this.#produceMany(queue)
      case 'produce again':
        return this.#produce(queue, {
          ...this.#options(),
          id: this.#ownId(),
          ...this.#ifExists(),
          ...(this.#more.happens(0.3) ? { remember: this.#more.pick([1, 1_000, 60_000]) } : {}),
        })
      case 'cancel running':
        await queue.cancel(this.#someId(), { running: true })
        return
      case 'change by tag':
        return this.#changeByTag(queue)
      case 'cancel':
        await queue.cancel(this.#someId())
        return
      case 'reschedule':
        await queue.reschedule(this.#someId(), { delay: this.#delay() })
        return
      case 'revive':
        await queue.revive([this.#someId(), this.#someId()])
        return
      case 'revive all':
        await queue.revive({ state: 'dead' })
        return
      case 'purge':
        await queue.purge({ ids: [this.#someId()] })
        return
      case 'purge all':
        await queue.purge({ state: this.#chance.pick(['delayed', 'ready', 'dead']), topic: this.#topic() })
        return
      case 'produce misfit':
        return this.#produceMisfit(process)
      case 'set schedule':
        return this.#setSchedule(queue)
      case 'control':
        return actOnControls(this.#world, queue, this.#topic(), this.#chance)
      case 'flood':
        return this.#produceMany(queue, this.#keyed.flood())
      case 'change by key':
        return this.#keyed.change(queue, this.#topic())
      case 'control keys':
        return this.#keyed.control(queue, this.#topic())
      case 'look':
        await this.#look(queue)
    }
  }

  async #produce(queue: Queue, options: ProduceOptions): Promise<void> {
    this.#produced += 1
    const id = await queue.produce(this.#topic(), { n: this.#produced }, options)
    this.#stored(id, options.id)
  }

  /** Refused with nothing stored, or, by a process that knows no schema, left to whoever handles it. */
  async #produceMisfit({ queue, name, hasSchemas }: SimulatedProcess): Promise<void> {
    this.#produced += 1
    const id = `misfit${this.#produced}`
    try {
      await queue.produce(this.#topic(), MISFIT, { ...this.#options(), id })
    } catch (error) {
      if (!(error instanceof UsageError) || error.code !== 'PAYLOAD_MISMATCH') throw error
      if (this.#world.ledger.wasStored(id)) this.#world.violations.add('P2', `${id} was refused, and stored`)
      return
    }
    if (hasSchemas) this.#world.violations.add('P2', `${name} stored ${id}, which its schema refuses`)
    this.#stored(id, id)
  }

  async #produceMany(queue: Queue, alike: ProduceOptions = {}): Promise<void> {
    const topic = this.#topic()
    const isFlood = alike.key !== undefined
    const entries = Array.from({ length: this.#chance.whole(1, 30) }, (_, n) => ({
      topic: isFlood ? topic : this.#topic(),
      payload: { n },
      ...(isFlood ? alike : this.#options()),
    }))
    const ids = await queue.produceMany(entries)
    for (const id of ids) this.#stored(id, undefined)
  }

  /** Whatever `produce` resolved for must have reached the store. */
  #stored(id: string, asked: string | undefined): void {
    this.#world.tally.produced += 1
    if (asked !== undefined && id !== asked)
      this.#world.violations.add('P5', `produced ${asked} and was told ${id}`)
    if (!this.#world.ledger.wasStored(id)) this.#world.violations.add('P2', `${id} was promised, not stored`)
  }

  /** Mostly the same again; sometimes another payload, which is an edit. */
  async #setSchedule(queue: Queue): Promise<void> {
    const planned = this.#chance.pick(this.#world.plan.schedules)
    if (planned === undefined) return
    const { name, topic, everyMs, startMs, times, isEdited, key } = planned
    if (isEdited && this.#edits.happens(0.6)) return this.#editSchedule(queue, name)
    const start = BEGINS_AT + startMs
    const spec = {
      topic,
      payload: { n: this.#chance.happens(0.7) ? 0 : this.#chance.whole(1, 3) },
      every: everyMs,
      start,
      end: start + (times - 1) * everyMs,
      catchUp: { all: CATCH_UP_MS, max: 100 },
      ...(key === undefined || !this.#keyed.areThere ? {} : { key }),
    } as const
    await this.#world.scheduleEdits.made(name, 'set', () => queue.schedules.set(name, spec))
    if (this.#chance.happens(0.3)) await queue.schedules.list()
  }

  async #editSchedule(queue: Queue, name: string): Promise<void> {
    const { scheduleEdits } = this.#world
    const pair = this.#edits.pick([['pause', 'resume'], ['remove'], ['pause'], ['resume']] as const)
    for (const kind of pair ?? []) await scheduleEdits.made(name, kind, () => queue.schedules[kind](name))
  }

  #ifExists(): Pick<ProduceOptions, 'ifExists' | 'latest'> {
    const ifExists = this.#chance.pick(['keep', 'replace', 'fail'] as const)
    if (ifExists !== 'replace' || this.#more.happens(0.5)) return { ifExists }
    return { ifExists, latest: this.#more.spread(1, this.#world.plan.stormMs) }
  }

  /** A tag is met by its whole index; whatever is not found there any more would stay for ever. */
  async #changeByTag(queue: Queue): Promise<void> {
    const tag = this.#more.pick(TAGS)
    switch (this.#more.pick(['cancel', 'reschedule', 'revive', 'purge'] as const)) {
      case 'cancel':
        await queue.cancel({ tag })
        return
      case 'reschedule':
        await queue.reschedule({ tag, limit: 5 }, { delay: this.#more.whole(0, 10_000) })
        return
      case 'revive':
        await queue.revive({ tag })
        return
      case 'purge':
        await queue.purge({ tag, limit: 3 })
    }
  }

  async #look(queue: Queue): Promise<void> {
    await queue.get(this.#someId())
    await queue.stats()
    await queue.list()
  }

  #options(): ProduceOptions {
    const chance = this.#chance
    const { partitions, plan } = this.#world
    const now = partitions[0]?.time.now() ?? 0
    const delay = this.#delay()
    return {
      ...(chance.happens(0.3) ? { at: Math.max(0, now + delay - chance.whole(0, 1_000)) } : { delay }),
      ...(chance.happens(0.3) ? { priority: chance.pick(['high', 'normal', 'low'] as const) } : {}),
      ...(chance.happens(0.15)
        ? { ttl: chance.pick([0, 10, 60_000]), ifExpired: chance.pick(['dead', 'skip'] as const) }
        : {}),
      ...(chance.happens(0.15)
        ? { retry: { limit: chance.whole(0, 5), delays: [chance.whole(0, plan.retryWaitMaxMs)] } }
        : {}),
      ...(chance.happens(0.15) ? { timeout: chance.pick([20, 2_000]) } : {}),
      ...(this.#more.happens(0.3) ? { tag: this.#more.pick(TAGS) } : {}),
      ...this.#keyed.some(),
      ...this.#window(),
    }
  }

  #window(): Pick<ProduceOptions, 'within'> {
    const { list, share } = this.#world.plan.windows
    const within = list.length > 0 && this.#windows.happens(share) ? this.#windows.pick(list) : undefined
    return within === undefined ? {} : { within }
  }

  #delay(): number {
    return this.#chance.happens(0.3) ? 0 : this.#chance.spread(0, this.#world.plan.stormMs)
  }

  #topic(): string {
    return this.#chance.pick(this.#world.plan.topics) ?? 'a'
  }

  #ownId(): string {
    return `own${this.#chance.whole(1, OWN_IDS)}`
  }

  /** One that exists, most of the time. */
  #someId(): string {
    const ids = [...this.#world.ledger.messages.keys()].filter((id) => !isControl(id))
    return (this.#chance.happens(0.8) ? this.#chance.pick(ids) : undefined) ?? this.#ownId()
  }
}
