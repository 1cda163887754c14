/**
 * Whether rings of other processes arrive here: a dialect asks for an echo now and then, and says what came of it. While they
 * do not arrive, everybody is called every DEAF_LOOK_MS.
 *
 *   resting ──start──► unknown ──hears / deaf──► hears ◄──► deaf        `resting`: no listener was started yet
 */
import type { Clock, Timer } from '../../../clock.ts'
import type { Logger } from '../../../core/log.ts'

export type Hearing = 'resting' | 'unknown' | 'hears' | 'deaf'

export const DEAF_LOOK_MS = 500

export type EarOptions = {
  readonly clock: Clock
  readonly logger: Logger
  readonly server: string
  /** Anything may have happened: everybody is to look. */
  readonly look: () => void
  /** Told once when nothing arrives, unless it is known why. */
  readonly warning: string
  readonly isExpected: () => boolean
}

export class Ear {
  readonly #options: EarOptions
  #hearing: Hearing = 'resting'
  #isWarned = false
  #isClosed = false
  #tick: Timer | undefined

  constructor(options: EarOptions) {
    this.#options = options
  }

  get hearing(): Hearing {
    return this.#hearing
  }

  /** False: it was started before, or is closed. */
  start(): boolean {
    if (this.#isClosed || this.#hearing !== 'resting') return false
    this.#hearing = 'unknown'
    return true
  }

  hears(): void {
    const { logger, server } = this.#options
    if (this.#isWarned) logger.warn(`${server}: wake-ups arrive again`)
    this.#isWarned = false
    this.#hearing = 'hears'
    this.#tick?.cancel()
    this.#tick = undefined
  }

  deaf(): void {
    const { logger, server, warning, isExpected } = this.#options
    if (!this.#isWarned && !isExpected()) {
      logger.warn(`${server}: ${warning}`)
      this.#isWarned = true
    }
    this.#hearing = 'deaf'
    if (this.#tick === undefined) this.#lookLater()
  }

  close(): void {
    this.#isClosed = true
    this.#tick?.cancel()
  }

  #lookLater(): void {
    this.#tick = this.#options.clock.schedule(DEAF_LOOK_MS, () => {
      this.#tick = undefined
      if (this.#isClosed || this.#hearing !== 'deaf') return
      this.#options.look()
      this.#lookLater()
    })
  }
}
