/** Running the scripts of one queue: by their SHA, and whole where the server does not know or forgot them. */
import { refusalWord } from '../link/refusals.ts'
import type { Script } from './generated.ts'
import type { QueueKeys } from './keys.ts'

/** What sends a command and brings its reply. */
export interface Calls {
  call(command: readonly string[]): Promise<unknown>
}

/** What a script is called with behind the keys and arguments that every script has. */
export type ScriptCall = {
  /** The lines and claims that it names. */
  readonly keys?: readonly string[]
  readonly args: readonly string[]
}

export class ScriptCalls {
  readonly #calls: Calls
  readonly #keys: QueueKeys
  /** Tests only. */
  readonly #now: (() => number) | undefined

  constructor(calls: Calls, keys: QueueKeys, now: (() => number) | undefined) {
    this.#calls = calls
    this.#keys = keys
    this.#now = now
  }

  async run(script: Script, { keys = [], args }: ScriptCall): Promise<unknown> {
    const { all, channel } = this.#keys
    const now = this.#now === undefined ? '' : String(this.#now())
    const count = String(all.length + keys.length)
    const command = ['EVALSHA', script.sha, count, ...all, ...keys, now, channel, ...args]
    try {
      return await this.#calls.call(command)
    } catch (error) {
      // SCRIPT FLUSH, a restart or a failover empties the server's cache; EVAL fills it again.
      if (refusalWord(error) !== 'NOSCRIPT') throw error
      return this.#calls.call(['EVAL', script.source, ...command.slice(2)])
    }
  }
}
