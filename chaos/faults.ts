/**
 * Does what the plan says, writes each fault down with its beginning and its end, and undoes it. What cannot be done
 * at its moment (the process is gone already, the store is in trouble already) is left out.
 */
import type { Place } from './cast.ts'
import type { Log } from './children/log.mjs'
import type { Engine } from './engines/engine.ts'
import type { PlannedFault } from './plan.ts'
import { sleep } from './waiting.ts'

export type Stage = {
  readonly engine: Engine
  readonly places: readonly Place[]
  readonly log: Log
}

export class Faults {
  readonly #stage: Stage
  readonly #underWay = new Set<Promise<void>>()
  readonly #counts = new Map<string, number>()
  #isEngineStruck = false
  #trouble: unknown

  constructor(stage: Stage) {
    this.#stage = stage
  }

  get counts(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#counts].toSorted(([a], [b]) => a.localeCompare(b)))
  }

  get total(): number {
    return [...this.#counts.values()].reduce((sum, count) => sum + count, 0)
  }

  /** Resolves when the last one was undone, or when told to end. */
  async carryOut(plan: readonly PlannedFault[], ended: AbortSignal): Promise<void> {
    const beganAt = performance.now()
    for (const planned of plan) {
      while (!ended.aborted && performance.now() < beganAt + planned.afterMs) await sleep(20)
      if (ended.aborted) break
      const doing = this.#strike(planned).catch((error: unknown) => {
        this.#trouble ??= error
      })
      this.#underWay.add(doing)
      void doing.finally(() => this.#underWay.delete(doing))
    }
    await Promise.all(this.#underWay)
    if (this.#trouble !== undefined) throw this.#trouble as Error
  }

  #strike(planned: PlannedFault): Promise<void> {
    switch (planned.kind) {
      case 'kill worker':
        return this.#kill('worker', planned)
      case 'kill producer':
        return this.#kill('producer', planned)
      case 'freeze worker':
        return this.#freeze('worker', planned)
      case 'freeze producer':
        return this.#freeze('producer', planned)
      case 'restart worker':
        return this.#restart(planned)
      case 'kill everybody':
        return this.#killEverybody(planned)
      default:
        return this.#strikeEngine(planned)
    }
  }

  async #kill(role: string, { kind, pick }: PlannedFault): Promise<void> {
    const place = choose(this.#mortals(role), pick)
    if (place === undefined) return
    const end = this.#begin(kind, place.who)
    await place.kill()
    end()
  }

  async #killEverybody({ kind }: PlannedFault): Promise<void> {
    await Promise.all(
      [...this.#mortals('worker'), ...this.#mortals('producer')].map(async (place) => {
        const end = this.#begin(kind, place.who)
        await place.kill()
        end()
      }),
    )
  }

  async #freeze(role: string, { kind, pick, lastsMs }: PlannedFault): Promise<void> {
    const thawed = this.#stage.places.filter(
      (place) => place.role === role && place.isRunning && !place.isFrozen,
    )
    const place = choose(thawed, pick)
    if (place === undefined) return
    const { who } = place
    const end = this.#begin(kind, who, this.#stage.engine.isFreezeForAll)
    place.signal('SIGSTOP')
    place.isFrozen = true
    await sleep(lastsMs)
    if (place.who === who) {
      place.signal('SIGCONT')
      place.isFrozen = false
    }
    end()
  }

  /** As an operator does it: it may finish what it does, and another takes its place. */
  async #restart({ kind, pick }: PlannedFault): Promise<void> {
    // One that is still starting has not said yet what it does when it is told to stop.
    const ready = this.#mortals('worker').filter((place) => place.heard('ready') !== undefined)
    const place = choose(ready, pick)
    if (place === undefined) return
    const end = this.#begin(kind, place.who)
    const { exited } = place
    place.signal('SIGTERM')
    await exited
    end()
  }

  async #strikeEngine({ kind, pick, lastsMs }: PlannedFault): Promise<void> {
    if (this.#isEngineStruck) return
    this.#isEngineStruck = true
    let end: (() => void) | undefined
    const { engine, places } = this.#stage
    try {
      await engine.inflict(kind, {
        lastsMs,
        pick,
        places: places.filter((place) => place.isRunning).map(({ name }) => name),
        begins: (target, isForAll) => {
          const place = places.find(({ name }) => name === target)
          end = this.#begin(kind, place?.who ?? target, isForAll)
        },
      })
    } finally {
      end?.()
      this.#isEngineStruck = false
    }
  }

  #mortals(role: string): Place[] {
    return this.#stage.places.filter((place) => place.role === role && place.isMortal && place.isRunning)
  }

  /** Its beginning is known from its end: nothing that was written down can have happened before. */
  #begin(kind: string, target: string, isForAll = false): () => void {
    const at = Date.now()
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + 1)
    return () => this.#stage.log.write({ what: 'fault', at, kind, target, isForAll, until: Date.now() })
  }
}

function choose<T>(candidates: readonly T[], pick: number): T | undefined {
  return candidates[Math.floor(pick * candidates.length)]
}
