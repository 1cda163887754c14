/** Workers elsewhere by the names that they give themselves: who asked lately, and what they are told to do. */
import type { Clock } from '../../../clock.ts'

/** `quiet`: takes no new messages. `stop`: ends when what it has is done. */
export const WORKER_CONTROLS = ['go', 'quiet', 'stop'] as const
export type WorkerControl = (typeof WORKER_CONTROLS)[number]

export type RemoteWorker = {
  readonly name: string
  readonly control: WorkerControl
  /** Epoch milliseconds. */
  readonly lastSeenAt: number
}

const KEPT = 1_000

export class RemoteWorkers {
  readonly #clock: Clock
  readonly #byName = new Map<string, RemoteWorker>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get all(): readonly RemoteWorker[] {
    return [...this.#byName.values()].toReversed()
  }

  /** It was heard of. */
  seen(name: string): WorkerControl {
    const { control = 'go' } = this.#byName.get(name) ?? {}
    this.#set({ name, control, lastSeenAt: Math.floor(this.#clock.now()) })
    return control
  }

  controlOf(name: string): WorkerControl {
    return this.#byName.get(name)?.control ?? 'go'
  }

  tell(name: string, control: WorkerControl): RemoteWorker {
    const { lastSeenAt = 0 } = this.#byName.get(name) ?? {}
    const worker = { name, control, lastSeenAt }
    this.#set(worker)
    return worker
  }

  #set(worker: RemoteWorker): void {
    this.#byName.delete(worker.name) // So that it stands last.
    this.#byName.set(worker.name, worker)
    const [first] = this.#byName.keys()
    if (this.#byName.size > KEPT && first !== undefined) this.#byName.delete(first)
  }
}
