/** `punctual bridge` as a process that can be killed. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { DELAYED, Traffic } from './traffic.ts'

const BINARY = fileURLToPath(new URL('../../dist/doors/cli/main.js', import.meta.url))

export class BridgeProcess {
  readonly #words: readonly string[]
  #child: ChildProcess | undefined

  constructor(url: string, store: string) {
    const route = ['--from', DELAYED, '--to', Traffic.target]
    this.#words = ['bridge', url, '--store', store, '--lease', '2s', '--heartbeat', '2s', ...route]
  }

  /** Resolves when messages flow both ways. */
  async start(): Promise<void> {
    const child = spawn(process.execPath, [BINARY, ...this.#words], { stdio: ['ignore', 'pipe', 'inherit'] })
    this.#child = child
    let said = ''
    await new Promise<void>((resolve, reject) => {
      child.stdout.on('data', (chunk: Buffer) => {
        said += chunk.toString()
        if (said.includes('connected (in)')) resolve()
      })
      child.once('exit', (code) => reject(new Error(`the bridge ended with ${code}: ${said}`)))
    })
  }

  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill(signal)
    await exited
  }
}
