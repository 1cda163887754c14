/** A line per event, for people or for programs. */
import type { Clock } from '../../../clock.ts'
import type { EventName, Logger, Punctual, QueueEvents, StopReport } from '../../../index.ts'
import { formatSpan, plural } from '../terminal/format.ts'
import { formatClock, formatMoment } from '../../shared/moment.ts'
import type { Output } from '../terminal/output.ts'
import { firstLine, printable } from '../../shared/printable.ts'
import { pad } from '../terminal/table.ts'

type JournalLine = { readonly what: string; readonly about?: string; readonly detail: string }

export type JournalOptions = {
  readonly out: Output
  readonly clock: Clock
  readonly json: boolean
  /** No line for what was completed: only what needs a look. */
  readonly isQuiet: boolean
}

const WHAT_WIDTH = 9

export class Journal {
  readonly #out: Output
  readonly #clock: Clock
  readonly #isJson: boolean
  readonly #isQuiet: boolean

  constructor({ out, clock, json, isQuiet }: JournalOptions) {
    this.#out = out
    this.#clock = clock
    this.#isJson = json
    this.#isQuiet = isQuiet
  }

  watch(queue: Punctual): void {
    const { green, yellow, red, magenta } = this.#out.style
    if (!this.#isQuiet) {
      this.#on(queue, 'completed', green, ({ latenessMs, durationMs }) => {
        return `${formatSpan(latenessMs)} late, took ${formatSpan(durationMs)}`
      })
    }
    this.#on(queue, 'retrying', yellow, ({ attempt, delayMs, error }) => {
      return `attempt ${attempt} failed: ${firstLine(error)}; again in ${formatSpan(delayMs)}`
    })
    this.#on(queue, 'dead', red, ({ attempt, reason, error }) => {
      const why = error === '' || error.includes(reason) ? '' : `, ${printable(reason)}`
      return `after attempt ${attempt}${why}: ${firstLine(error) || printable(reason)}`
    })
    this.#on(queue, 'late', magenta, ({ latenessMs }) => `started ${formatSpan(latenessMs)} late`)
    this.#on(queue, 'lost', magenta, () => 'the lease went to another worker')
    queue.on('paused', (event) => {
      const detail = event.until === undefined ? 'until it is resumed' : `until ${formatMoment(event.until)}`
      this.#write({ event: 'paused', ...event }, { what: yellow('paused'), about: nameOf(event), detail })
    })
    queue.on('resumed', (event) => {
      this.#write(
        { event: 'resumed', ...event },
        { what: green('resumed'), about: nameOf(event), detail: '' },
      )
    })
    queue.on('error', ({ message }) => this.trouble('error', message))
  }

  begun(topics: readonly string[], where: string): void {
    const moment = formatMoment(this.#clock.now())
    if (this.#isJson) return this.#out.json({ event: 'working', at: this.#clock.now(), topics })
    this.#out.line(`${moment}  working on ${topics.join(', ')} from ${where}; Ctrl-C stops gracefully`)
  }

  lateness({ p50, p99, max }: { p50: number; p99: number; max: number }): void {
    const detail = `p50 ${formatSpan(p50)}, p99 ${formatSpan(p99)}, max ${formatSpan(max)}`
    this.#write({ event: 'lateness', p50, p99, max }, { what: this.#out.style.dim('lateness'), detail })
  }

  stopping(): void {
    const detail = 'what runs may finish; a second signal no longer waits'
    this.#write({ event: 'stopping' }, { what: 'stopping', detail })
  }

  ended(report: StopReport): void {
    const { finished, released, abandoned, errors, durationMs } = report
    const counts = `${plural(finished, 'handler')} finished, ${released} given back unstarted, ${abandoned} abandoned`
    const detail = [`${counts}, in ${formatSpan(durationMs)}`, ...errors.map(printable)].join('; ')
    this.#write({ event: 'stopped', ...report }, { what: 'stopped', detail })
  }

  get logger(): Logger {
    return {
      warn: (message) => this.trouble('warning', message),
      error: (message) => this.trouble('error', message),
    }
  }

  note(what: string, detail: string): void {
    this.#write(
      { event: what, message: detail },
      { what: this.#out.style.green(what), detail: printable(detail) },
    )
  }

  trouble(level: 'warning' | 'error', message: string): void {
    const { yellow, red } = this.#out.style
    const what = level === 'error' ? red(level) : yellow(level)
    this.#write({ event: level, message }, { what, detail: printable(message) })
  }

  #on<K extends Exclude<EventName, 'error' | 'paused' | 'resumed'>>(
    queue: Punctual,
    name: K,
    paint: (text: string) => string,
    detail: (event: QueueEvents[K]) => string,
  ): void {
    queue.on(name, (event) => {
      const { topic, id } = event
      this.#write(
        { event: name, ...event },
        { what: paint(name), about: `${topic} ${id}`, detail: detail(event) },
      )
    })
  }

  #write(document: object, { what, about, detail }: JournalLine): void {
    const now = this.#clock.now()
    if (this.#isJson) return this.#out.json({ at: now, ...document })
    const { dim, bold } = this.#out.style
    const parts = [
      dim(formatClock(now)),
      pad(what, WHAT_WIDTH, 'left'),
      ...(about === undefined ? [] : [bold(about)]),
    ]
    this.#out.line([...parts, ...(detail === '' ? [] : [detail])].join('  '))
  }
}

function nameOf({ topic }: { readonly topic?: string }): string {
  return topic === undefined ? 'the whole queue' : printable(topic)
}
