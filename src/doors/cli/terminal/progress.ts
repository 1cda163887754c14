/** A progress bar on one line of a terminal that is repainted in place; elsewhere it shows nothing. */
import type { Clock } from '../../../clock.ts'
import { gauge } from './format.ts'
import { formatCount } from './format.ts'
import type { Output } from './output.ts'

const PAINT_EVERY_MS = 80
const WIDTH = 30
const CLEAR_LINE = '\r\u001B[K'

export type Progressed = {
  readonly done: number
  /** 0 to 1, where the end is known. */
  readonly share?: number
}

export class Progress {
  readonly #output: Output
  readonly #clock: Clock
  readonly #startedAt: number
  #paintedAt = -Infinity

  constructor(output: Output, clock: Clock) {
    this.#output = output
    this.#clock = clock
    this.#startedAt = clock.monotonic()
  }

  update({ done, share }: Progressed): void {
    const now = this.#clock.monotonic()
    if (!this.#output.isTerminal || now - this.#paintedAt < PAINT_EVERY_MS) return
    this.#paintedAt = now
    const { style } = this.#output
    const perSecond = formatCount(Math.round((done / (now - this.#startedAt)) * 1_000))
    this.#output.write(`${CLEAR_LINE}${this.#bar(share)}${formatCount(done)} ${style.dim(`${perSecond}/s`)}`)
  }

  end(): void {
    if (this.#paintedAt > -Infinity) this.#output.write(CLEAR_LINE)
  }

  #bar(share: number | undefined): string {
    if (share === undefined) return ''
    const { filled, empty } = gauge(share, WIDTH)
    const { style } = this.#output
    return `${style.green(filled)}${style.dim(empty)} ${Math.floor(share * 100)} %  `
  }
}
