/** Who edited which schedule when, and since when it is surely active: from then on each of its moments is owed. */
import type { World } from '../world/world.ts'

export type EditKind = 'set' | 'remove' | 'pause' | 'resume'
type State = 'absent' | 'active' | 'paused' | 'unknown'
type Edit = {
  readonly kind: EditKind
  /** Simulated time. */
  readonly from: number
  /** Infinity: it failed, or has not ended. What it did to the schedule is not known. */
  to: number
  /** By the store's clock, when it ended. */
  storeTo: number
}

export class ScheduleEdits {
  readonly #world: () => World
  readonly #edits = new Map<string, Edit[]>()

  constructor(world: () => World) {
    this.#world = world
  }

  async made(name: string, kind: EditKind, edit: () => Promise<unknown>): Promise<void> {
    const { timeline, home } = this.#world()
    const one: Edit = { kind, from: timeline.now, to: Infinity, storeTo: Infinity }
    this.#edits.set(name, [...(this.#edits.get(name) ?? []), one])
    await edit()
    one.to = timeline.now
    one.storeTo = home(`{${name}}`).time.now()
  }

  /** Whether an edit was under way at this simulated time. */
  wasUnderWay(name: string, at: number): boolean {
    return (this.#edits.get(name) ?? []).some(({ from, to }) => from <= at && at <= to)
  }

  /** By the store's clock. Undefined: it is not active, or that is not known. */
  activeSince(name: string): number | undefined {
    let state: State = 'absent'
    let last: Edit | undefined
    for (const edit of this.#edits.get(name) ?? []) {
      const isAlone = (last?.to ?? -1) < edit.from && edit.to < Infinity
      state = isAlone ? after(state, edit.kind) : 'unknown'
      last = last === undefined || edit.to >= last.to ? edit : last
    }
    return state === 'active' ? last?.storeTo : undefined
  }
}

function after(state: State, kind: EditKind): State {
  if (kind === 'remove') return 'absent'
  if (kind === 'set') return state === 'absent' ? 'active' : state
  if (state === 'absent' || state === 'unknown') return state
  return kind === 'pause' ? 'paused' : 'active'
}
