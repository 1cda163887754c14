/**
 * A part of the terminal that is repainted in place. It starts where the cursor is, and the last frame stays behind:
 * what the visitor saw can be scrolled back to.
 */
import type { Output } from './output.ts'
import { clip } from './width.ts'

const HIDE_CURSOR = '\u001B[?25l'
const SHOW_CURSOR = '\u001B[?25h'
const CLEAR_REST_OF_LINE = '\u001B[K'
const CLEAR_BELOW = '\u001B[J'

export class Screen {
  readonly #output: Output
  #height = 0

  constructor(output: Output) {
    this.#output = output
    output.write(HIDE_CURSOR)
  }

  /** Cut to the size of the terminal: a line that wraps would put everything below in the wrong place. */
  paint(lines: readonly string[]): void {
    const { columns, rows } = this.#output
    const fitting = lines.slice(0, rows - 1).map((line) => clip(line, columns - 1) + CLEAR_REST_OF_LINE)
    const up = this.#height === 0 ? '' : `\u001B[${this.#height}A`
    // In one write, so that no half-painted frame is ever seen.
    this.#output.write(`${up}\r${fitting.join('\n')}\n${CLEAR_BELOW}`)
    this.#height = fitting.length
  }

  end(): void {
    this.#output.write(SHOW_CURSOR)
  }
}
