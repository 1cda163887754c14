/**
 * Calls that stay open: events, claims that wait. Who began one may lose the right to its answer meanwhile: a token
 * is taken back, changed or expires, a session ends. So each is asked again before something is sent (`isOver`), and twice a
 * second while it is open, by one timer for all of them: with the look at the token file a change is heeded within a second.
 */
import type { Clock } from '../../../clock.ts'

const LOOK_MS = 500

export type OpenCall = {
  readonly isOver: () => boolean
  /** Tells once, when it is over. Returns how to stop looking. */
  readonly whenOver: (tell: () => void) => () => void
}

type WatchedRight = { readonly isOver: () => boolean; readonly tell: () => void }

export class OpenCalls {
  readonly #clock: Clock
  readonly #watched = new Set<WatchedRight>()
  #isLooking = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  open(isOver: () => boolean): OpenCall {
    return {
      isOver,
      whenOver: (tell) => {
        const watched = { isOver, tell }
        this.#watched.add(watched)
        this.#lookSoon()
        return () => this.#watched.delete(watched)
      },
    }
  }

  #lookSoon(): void {
    if (this.#isLooking || this.#watched.size === 0) return
    this.#isLooking = true
    this.#clock.schedule(LOOK_MS, () => {
      this.#isLooking = false
      for (const watched of this.#watched) {
        if (!watched.isOver()) continue
        this.#watched.delete(watched)
        watched.tell()
      }
      this.#lookSoon()
    })
  }
}
