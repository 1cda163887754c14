/** Pipes that break, terminals and colours, zones. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { BINARY, makePlace } from './punctual.ts'

const run = promisify(execFile)

describe('pipes', () => {
  it('a reader that leaves early is no error, and hears no complaint', async () => {
    const shell = await makePlace()
    const payloads = Array.from({ length: 3_000 }, (_, i) => JSON.stringify('x'.repeat(200) + i)).join('\n')
    await shell.run(['produce', 't', '-', '--delay', '1h'], { stdin: payloads })
    const script = `set -o pipefail; "$0" "$1" list --all | head -n 1`
    const { stdout, stderr } = await run('bash', ['-c', script, process.execPath, BINARY], {
      cwd: shell.directory,
    })
    expect(stdout).toMatch(/^ID +STATE/)
    expect(stderr).toBe('')
  })

  it('what one command prints, another takes', async () => {
    const shell = await makePlace()
    const script = `"$0" "$1" produce a 1 --delay 1h --json | "$0" "$1" produce copies - && "$0" "$1" list --topic copies`
    const { stdout } = await run('bash', ['-c', script, process.execPath, BINARY], { cwd: shell.directory })
    expect(stdout).toMatch(/copies .*\{"id":/)
  })
})

describe('zones', () => {
  it('a moment without an offset is local, and is said back with its offset', async () => {
    const shell = await makePlace()
    const env = { TZ: 'Europe/Berlin' }
    const summer = await shell.run(['produce', 't', '1', '--at', '2030-07-01T09:00'], { env })
    expect(summer.stdout).toContain('due 2030-07-01T09:00:00.000+02:00')
    const winter = await shell.run(['produce', 't', '1', '--at', '2030-01-01'], { env })
    expect(winter.stdout).toContain('due 2030-01-01T00:00:00.000+01:00')
    const elsewhere = await shell.run(['produce', 't', '1', '--at', '2030-07-01T09:00:30.5-03:30'], { env })
    expect(elsewhere.stdout).toContain('due 2030-07-01T14:30:30.500+02:00')
    const skipped = await shell.run(['produce', 't', '1', '--at', '2030-03-31T02:30'], { env })
    expect(skipped.stderr).toContain('does not exist in the local zone')
  })
})
