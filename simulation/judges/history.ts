/**
 * What happened, line by line, for people; and its hash, by which two runs are compared byte for byte. Nothing is
 * written unless asked for: a seed that fails is simply run again with its history on.
 */
import { createHash } from 'node:crypto'

export class History {
  readonly #now: () => number
  readonly #isOn: boolean
  readonly #lines: string[] = []

  constructor(now: () => number, isOn: boolean) {
    this.#now = now
    this.#isOn = isOn
  }

  get lines(): readonly string[] {
    return this.#lines
  }

  get hash(): string {
    return createHash('sha256').update(this.#lines.join('\n')).digest('hex')
  }

  /** `what` is only called when somebody will read it. */
  note(who: string, what: () => string): void {
    if (this.#isOn) this.#lines.push(`${formatTime(this.#now())}  ${who.padEnd(10)} ${what()}`)
  }
}

/** 1d 02:03:04.005 */
export function formatTime(ms: number): string {
  const whole = Math.floor(ms)
  const days = Math.floor(whole / 86_400_000)
  const time = `${two((whole / 3_600_000) % 24)}:${two((whole / 60_000) % 60)}:${two((whole / 1_000) % 60)}`
  return `${days}d ${time}.${String(whole % 1_000).padStart(3, '0')}`
}

function two(value: number): string {
  return String(Math.floor(value)).padStart(2, '0')
}
