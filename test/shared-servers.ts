/** Servers that all test files of a run share: the first file that needs one starts it, and they end with the run. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export function setup(): () => void {
  const place = mkdtempSync(join(tmpdir(), 'punctual-shared-'))
  process.env['PUNCTUAL_SHARED_SERVERS'] = place
  return () => {
    try {
      const { pid, directory } = JSON.parse(readFileSync(join(place, 'mysql.json'), 'utf8')) as {
        pid: number
        directory: string
      }
      process.kill(pid, 'SIGKILL')
      rmSync(directory, { recursive: true, force: true, maxRetries: 10 })
    } catch {
      // None was started.
    }
    rmSync(place, { recursive: true, force: true })
  }
}
