/** Running the scripts of one queue: by their SHA, and whole where the server does not know or forgot them. */
import { queueKeys, wakeChannel } from './keys.ts'
import type { Link } from './link.ts'
import { refusalWord } from './refusals.ts'
import type { Script } from './scripts.generated.ts'

export class ScriptCalls {
  readonly #link: Link
  readonly #keys: readonly string[]
  readonly #channel: string
  /** Tests only. */
  readonly #now: (() => number) | undefined

  constructor(link: Link, queue: string, now: (() => number) | undefined) {
    this.#link = link
    this.#channel = wakeChannel(queue)
    this.#keys = [String(queueKeys(queue).length), ...queueKeys(queue)]
    this.#now = now
  }

  async run(script: Script, args: readonly string[]): Promise<unknown> {
    const now = this.#now === undefined ? '' : String(this.#now())
    const rest = [...this.#keys, now, this.#channel, ...args]
    try {
      return await this.#link.call(['EVALSHA', script.sha, ...rest])
    } catch (error) {
      // SCRIPT FLUSH, a restart or a failover empties the server's cache; EVAL fills it again.
      if (refusalWord(error) !== 'NOSCRIPT') throw error
      return this.#link.call(['EVAL', script.source, ...rest])
    }
  }
}
