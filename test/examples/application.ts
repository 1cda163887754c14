/** An example that is an application: compiled as a user would, started as a process of its own, asked over HTTP. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { onTestFinished } from 'vitest'
import { makeExampleProject, removeExampleProject } from '../../scripts/example-project.mjs'
import { until } from '../store/redis/until.ts'

export async function project(name: string, packages?: string): Promise<string> {
  const directory = await makeExampleProject(name, packages)
  onTestFinished(() => removeExampleProject(directory))
  return directory
}

export class Application {
  readonly url: string
  readonly #child: ChildProcess
  readonly #ended: Promise<unknown[]>

  private constructor(url: string, child: ChildProcess, ended: Promise<unknown[]>) {
    this.url = url
    this.#child = child
    this.#ended = ended
  }

  /** Resolves once it has said where it listens. */
  static async start(directory: string, env: NodeJS.ProcessEnv = {}, file = 'main.js'): Promise<Application> {
    const child = spawn(process.execPath, ['--no-warnings', file], {
      cwd: directory,
      env: { ...process.env, PORT: '0', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    const ended = once(child, 'exit')
    let told = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (told += text))
    const address = (): string | undefined => /listening on (http:\S+)/.exec(told)?.[1]
    await until('it listens', () => address() !== undefined || child.exitCode !== null)
    const url = address()
    if (url === undefined) throw new Error(`it ended with ${child.exitCode}: ${told}`)
    return new Application(url, child, ended)
  }

  /** Answers the status, and the body as data where it is JSON. */
  async ask(
    path: string,
    { body, headers = {} }: { body?: unknown; headers?: Record<string, string> } = {},
  ): Promise<{ status: number; body: unknown }> {
    const sent = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
    const json = body === undefined ? {} : { 'content-type': 'application/json' }
    const response = await fetch(this.url + path, { ...sent, headers: { ...json, ...headers } })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.includes('json') === true
    return { status: response.status, body: isJson ? JSON.parse(text) : text }
  }

  /** As a platform ends it; answers the exit code, or the signal it died of. */
  async stop(): Promise<unknown> {
    this.#child.kill('SIGTERM')
    const [code, signal] = await this.#ended
    return code ?? signal
  }
}
