/**
 * The processes of a run. Each has a place ("worker-2") that outlives it: when it is killed, another takes its place
 * ("worker-2.2") a moment later, with a log of its own. The first of each role is never killed, so that a leak has
 * time to show.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import type { Log } from './children/log.mjs'
import { sleep, until } from './waiting.ts'

export type Role = 'producer' | 'worker' | 'bookkeeper'

export type Casting = {
  readonly directory: string
  readonly faults: Log
  /** What a process of this place is told; `number` counts those that had the place. */
  readonly optionsFor: (place: Place, number: number) => object
  readonly nextPauseMs: () => number
}

type Word = { readonly said: string } & Readonly<Record<string, unknown>>

export class Place {
  readonly role: Role
  readonly name: string
  readonly isMortal: boolean
  readonly #casting: Casting
  readonly #heard = new Map<string, Word>()
  /** Of all who had the place before. */
  readonly #pastCounts = new Map<string, number>()
  #process: ChildProcess | undefined
  #exited: Promise<void> = Promise.resolve()
  #number = 0
  #isKilled = false
  #isClosing = false
  isFrozen = false

  constructor(role: Role, index: number, casting: Casting) {
    this.role = role
    this.name = `${role}-${index}`
    this.isMortal = index > 1
    this.#casting = casting
  }

  /** Who has the place now, as logs name it. */
  get who(): string {
    return `${this.name}.${this.#number}`
  }

  get isRunning(): boolean {
    return this.#process !== undefined
  }

  fill(): void {
    this.#number += 1
    const { directory, optionsFor, faults } = this.#casting
    const { who } = this
    const options = { who, log: join(directory, `${who}.log`), ...optionsFor(this, this.#number) }
    const errors = openSync(join(directory, `${who}.err`), 'a')
    const program = join(import.meta.dirname, 'children', `${this.role}.mjs`)
    const child = spawn(process.execPath, ['--expose-gc', program, JSON.stringify(options)], {
      stdio: ['ignore', 'ignore', errors, 'ipc'],
    })
    closeSync(errors)
    this.#heard.clear()
    this.#process = child
    this.#isKilled = false
    this.isFrozen = false
    child.on('error', () => undefined) // A message to one who has just died.
    child.on('message', (word: Word) => this.#heard.set(word.said, word))
    this.#exited = new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        this.#process = undefined
        this.#keepCounts()
        faults.write({ what: 'exited', process: who, code, signal, isKilled: this.#isKilled })
        resolve()
        if (!this.#isClosing) void this.#refill()
      })
    })
  }

  async #refill(): Promise<void> {
    await sleep(this.#casting.nextPauseMs())
    if (!this.#isClosing && this.#process === undefined) this.fill()
  }

  tell(please: string, details: object = {}): void {
    if (this.#process?.connected) this.#process.send({ please, ...details }, () => undefined)
  }

  heard(said: string): Word | undefined {
    return this.#heard.get(said)
  }

  forget(said: string): void {
    this.#heard.delete(said)
  }

  whenHeard(said: string): Promise<void> {
    return until(`${this.name} says "${said}"`, () => this.#heard.has(said))
  }

  /** All that those who had the place have counted, as far as we heard. */
  counted(what: string): number {
    return (this.#pastCounts.get(what) ?? 0) + (this.#countsNow()[what] ?? 0)
  }

  signal(name: 'SIGSTOP' | 'SIGCONT' | 'SIGTERM'): void {
    this.#process?.kill(name)
  }

  /** Resolves when it is gone; another process takes its place. */
  kill(): Promise<void> {
    this.#isKilled = true
    this.#process?.kill('SIGKILL')
    return this.#exited
  }

  /** From now on no process takes its place. */
  close(): void {
    this.#isClosing = true
  }

  get exited(): Promise<void> {
    return this.#exited
  }

  #countsNow(): Readonly<Record<string, number>> {
    return (this.#heard.get('counts')?.['counts'] ?? {}) as Readonly<Record<string, number>>
  }

  #keepCounts(): void {
    for (const [what, count] of Object.entries(this.#countsNow()))
      this.#pastCounts.set(what, (this.#pastCounts.get(what) ?? 0) + count)
    this.#heard.delete('counts')
  }
}
