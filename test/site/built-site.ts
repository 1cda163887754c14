/** The site as `npm run docs` builds and serves it, in a process of its own. */
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')

/** It takes some ten seconds; on a machine that is busy with everything else, minutes. */
const BUILD_MS_MAX = 600_000

export type BuiltSite = {
  /** `http://127.0.0.1:PORT` */
  readonly origin: () => string
  /** Every page, by its path below the root. */
  readonly pages: () => Map<string, string>
  readonly has: (path: string) => boolean
}

export function useSite(): BuiltSite {
  const folder = mkdtempSync(join(tmpdir(), 'punctual-site-'))
  let child: ChildProcess
  let origin = ''
  let files: string[] = []
  beforeAll(async () => {
    child = spawn(process.execPath, [join(ROOT, 'scripts/docs.mjs'), '--port', '0', '--out', folder])
    origin = await addressFrom(child)
    files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  }, BUILD_MS_MAX)
  afterAll(() => {
    child.kill()
    rmSync(folder, { recursive: true, force: true })
  })
  return {
    origin: () => origin,
    pages: () =>
      new Map(
        files
          .filter((file) => file.endsWith('.html'))
          .map((file) => [file, readFileSync(join(folder, file), 'utf8')]),
      ),
    has: (path) => files.includes(path),
  }
}

/** Of its last line, which it writes when it listens; all that it said when it ends without one. */
function addressFrom(child: ChildProcess): Promise<string> {
  let said = ''
  return new Promise((done, fail) => {
    const hear = (chunk: Buffer): void => {
      said += chunk.toString()
      const [origin] = /http:\/\/127\.0\.0\.1:\d+/.exec(said) ?? []
      if (origin !== undefined) done(origin)
    }
    child.stdout?.on('data', hear)
    child.stderr?.on('data', hear)
    child.once('exit', (code) => fail(new Error(`the site was not built (exit code ${code}):\n${said}`)))
  })
}
