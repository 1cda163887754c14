/** How the demo is told: as a picture on a terminal, as plain lines elsewhere, as documents for programs. */
import { formatCount, formatSpan } from '../terminal/format.ts'
import type { Output } from '../terminal/output.ts'
import { Screen } from '../terminal/screen.ts'
import { ORDER_TOPIC } from './plan.ts'
import type { Arrived, Tally } from './tally.ts'
import { renderFrame } from './view.ts'

export interface Show {
  readonly everyMs: number
  arrived(arrived: Arrived): void
  note(text: string): void
  /** Called every `everyMs`, and once at the end. */
  tick(moment: { readonly now: number; readonly isOver: boolean }): void
  end(): void
}

export type Stage = {
  readonly out: Output
  readonly tally: Tally
  readonly where: string
  readonly json: boolean
}

export function showFor(stage: Stage): Show {
  if (stage.json) return new DocumentShow(stage)
  return stage.out.isTerminal ? new PictureShow(stage) : new LineShow(stage)
}

class PictureShow implements Show {
  readonly everyMs = 60
  readonly #stage: Stage
  readonly #screen: Screen
  readonly #notes: string[] = []

  constructor(stage: Stage) {
    this.#stage = stage
    this.#screen = new Screen(stage.out)
  }

  arrived(): void {}

  note(text: string): void {
    this.#notes.push(text)
  }

  tick({ now, isOver }: { now: number; isOver: boolean }): void {
    const { out, tally, where } = this.#stage
    const { columns, style } = out
    const frame = renderFrame({ tally, now, where, notes: this.#notes, isOver, columns, style })
    this.#screen.paint(['', ...frame])
  }

  end(): void {
    this.#screen.end()
  }
}

class LineShow implements Show {
  readonly everyMs = 1_000
  readonly #stage: Stage

  constructor(stage: Stage) {
    this.#stage = stage
    stage.out.line(`punctual demo: ${formatCount(stage.tally.total)} messages in ${stage.where}`)
  }

  arrived({ topic, dueAt, latenessMs }: Arrived): void {
    const { out, tally } = this.#stage
    if (topic !== ORDER_TOPIC) return
    const late = dueAt < tally.startedAt ? 'was due before this run' : `${formatSpan(latenessMs)} late`
    out.line(`the one of ${tally.orderSeen.at(-1)} s arrived, ${late}`)
  }

  note(text: string): void {
    this.#stage.out.line(text)
  }

  tick({ isOver }: { isOver: boolean }): void {
    const { out, tally } = this.#stage
    const percentiles = tally.percentiles()
    if (isOver || percentiles === undefined) return
    const { p50, p99, max } = percentiles
    const late = `late by p50 ${formatSpan(p50)}, p99 ${formatSpan(p99)}, max ${formatSpan(max)}`
    out.line(`${formatCount(tally.arrived)} of ${formatCount(tally.total)} arrived, ${late}`)
  }

  end(): void {}
}

class DocumentShow implements Show {
  readonly everyMs = 1_000
  readonly #stage: Stage

  constructor(stage: Stage) {
    this.#stage = stage
    stage.out.json({ event: 'begun', messages: stage.tally.total, overdue: stage.tally.overdue })
  }

  arrived(arrived: Arrived): void {
    this.#stage.out.json({ event: 'arrived', ...arrived })
  }

  note(text: string): void {
    this.#stage.out.json({ event: 'note', text })
  }

  tick(): void {}

  end(): void {}
}
