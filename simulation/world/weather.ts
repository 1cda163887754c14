/** How bad things are right now: the faults of the storm or the calm after it, and which lines are cut. */
import { CALM, type Faults, type Plan } from '../plan.ts'

/** `refusing`: calls fail at once. `silent`: they get no answer. */
export type Outage = 'refusing' | 'silent'

export class Weather {
  readonly #plan: Plan
  readonly #outages = new Map<string, Outage>()
  /** Partitions that are away for everybody. */
  readonly #away = new Map<number, Outage>()
  #isCalm = false

  constructor(plan: Plan) {
    this.#plan = plan
  }

  get isCalm(): boolean {
    return this.#isCalm
  }

  get faults(): Faults {
    if (!this.#isCalm) return this.#plan.faults
    return this.#plan.isDeafAfterwards ? { ...CALM, wakeLoss: 1 } : CALM
  }

  outageOf(host: string, partition: number): Outage | undefined {
    return this.#outages.get(host) ?? this.#away.get(partition)
  }

  /** For so long a partition is away. */
  loses(partition: number, outage: Outage): void {
    if (!this.#isCalm) this.#away.set(partition, outage)
  }

  returns(partition: number): void {
    this.#away.delete(partition)
  }

  cut(host: string, outage: Outage): void {
    if (!this.#isCalm) this.#outages.set(host, outage)
  }

  mend(host: string): void {
    this.#outages.delete(host)
  }

  becomeCalm(): void {
    this.#isCalm = true
    this.#outages.clear()
    this.#away.clear()
  }
}
