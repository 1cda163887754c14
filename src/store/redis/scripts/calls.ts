/** Running the scripts of one queue: by their SHA, and whole where the server does not know or forgot them. */
import { queueKeys, wakeChannel } from './keys.ts'
import { refusalWord } from '../link/refusals.ts'
import type { Script } from './generated.ts'

/** Whoever sends a command and brings its reply. */
export interface Calls {
  call(command: readonly string[]): Promise<unknown>
}

export class ScriptCalls {
  readonly #calls: Calls
  readonly #keys: readonly string[]
  readonly #channel: string
  /** Tests only. */
  readonly #now: (() => number) | undefined

  constructor(calls: Calls, queue: string, now: (() => number) | undefined) {
    this.#calls = calls
    this.#channel = wakeChannel(queue)
    this.#keys = [String(queueKeys(queue).length), ...queueKeys(queue)]
    this.#now = now
  }

  async run(script: Script, args: readonly string[]): Promise<unknown> {
    const now = this.#now === undefined ? '' : String(this.#now())
    const rest = [...this.#keys, now, this.#channel, ...args]
    try {
      return await this.#calls.call(['EVALSHA', script.sha, ...rest])
    } catch (error) {
      // SCRIPT FLUSH, a restart or a failover empties the server's cache; EVAL fills it again.
      if (refusalWord(error) !== 'NOSCRIPT') throw error
      return this.#calls.call(['EVAL', script.source, ...rest])
    }
  }
}
