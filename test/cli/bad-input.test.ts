/** What the fuzzer found at the shell, each by its name. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { Punctual } from '../../src/index.ts'
import { BINARY, makePlace, type Place } from './punctual.ts'

async function ids(place: Place): Promise<string[]> {
  const { items } = (await place.json(['list'])) as { items: { id: string }[] }
  return items.map(({ id }) => id)
}

describe('bad input at the shell', () => {
  it('one bad id among several: none is cancelled', async () => {
    const place = await makePlace()
    await place.run(['produce', 't', '1', '--id', 'a', '--delay', '1h'])
    expect(await place.run(['cancel', 'a', ''])).toMatchObject({ code: 2, stdout: '' })
    expect(await ids(place)).toEqual(['a'])
  })

  it('a bad moment in a later line is a failure that counts what was stored before it', async () => {
    const place = await makePlace()
    const lines = Array.from({ length: 1_000 }, () => '{"topic":"t","delay":"1h"}')
    const stdin = [...lines, '{"topic":"t","at":"soon"}'].join('\n')
    const { code, stderr } = await place.run(['produce', '-'], { stdin })
    expect(code).toBe(1)
    expect(stderr).toMatch(/^punctual: "at" of line 1001 is "soon".* 1,000 messages before it stored;/)
  })

  it('bytes that are not UTF-8 are refused, and nothing is stored: as an argument, and in a line of standard input', async () => {
    const place = await makePlace()
    await place.run(['produce', 't', '1', '--id', 'whole', '--delay', '1h'])
    const punctual = `${process.execPath} ${BINARY} produce --json`
    for (const script of [
      String.raw`${punctual} t "$(printf '"\377"')" --delay 1h`,
      String.raw`printf '{"topic":"t","payload":"\377","delay":"1h"}\n' | ${punctual} -`,
    ]) {
      const child = spawn('sh', ['-c', script], {
        cwd: place.directory,
        stdio: ['ignore', 'pipe', 'ignore'],
      })
      expect(JSON.parse(await text(child.stdout)), script).toMatchObject({ code: 'ENCODING_INVALID' })
    }
    expect(await ids(place)).toEqual(['whole'])
  })

  it('standard input that cannot be read is no empty input', async () => {
    const place = await makePlace()
    const directory = await open(place.directory)
    try {
      const child = spawn(process.execPath, [BINARY, 'produce', '-', '--json'], {
        cwd: place.directory,
        stdio: [directory.fd, 'pipe', 'ignore'],
      })
      let stdout = ''
      child.stdout?.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
      const [code] = (await once(child, 'close')) as [number | null]
      expect(code).toBe(1)
      expect(JSON.parse(stdout)).toMatchObject({
        error: expect.stringContaining('standard input cannot be read') as string,
        code: 'FAILED',
      })
    } finally {
      await directory.close()
    }
  })

  it('a store that this user may not write says so, with its path and what to do', async () => {
    const place = await makePlace()
    await place.run(['produce', 't', '1', '--delay', '1h', '--store', 'file:q'])
    const store = join(place.directory, 'q')
    for (const file of await readdir(store)) await chmod(join(store, file), 0o444)
    await chmod(store, 0o555)
    await chmod(place.directory, 0o755)
    // The super-user may write anything, so the command is run by a user who may not.
    const uid = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
    for (const words of [['produce', 't', '1', '--delay', '1h'], ['stats'], ['doctor']]) {
      const child = spawn(process.execPath, [BINARY, ...words, '--json', '--store', 'file:q'], {
        cwd: place.directory,
        stdio: ['ignore', 'pipe', 'inherit'],
        ...uid,
      })
      const [answer] = await Promise.all([text(child.stdout), once(child, 'close')])
      expect(JSON.parse(answer), words[0]).toMatchObject({
        code: 'STORE_REFUSED',
        error: expect.stringMatching(/q" cannot be written .*Fix the rights/) as string,
      })
    }
    await chmod(store, 0o755)
  })

  it('a path where nothing can be made is refused, and not tried for ever', async () => {
    const place = await makePlace()
    await place.write('a-file', '')
    for (const path of ['a-file', 'a-file/below', 'x'.repeat(300), '%00', ...impossible()]) {
      const answer = await place.json(['produce', 't', '1', '--store', `file:${path}`])
      expect(answer).toMatchObject({ code: 'STORE_FOREIGN' })
    }
    await place.run(['produce', 't', '1', '--delay', '1h'])
    expect(await place.json(['backup', 'a-file'])).toMatchObject({ code: 'STORE_FOREIGN' })
  })

  it('a password in a URL is shown nowhere', async () => {
    const place = await makePlace()
    const where = 'me:hunter2@127.0.0.1:1'
    const urls = [`redis://${where}/x`, `redis://${where}?x=1`, `redis://${where}?callTimeout=50ms`]
    for (const url of [
      ...urls,
      `mysql://${where}/x?callTimeout=50ms`,
      `nosuch://${where}`,
      `redis://me:hunter2%@127.0.0.1:1`,
    ]) {
      const { code, stdout, stderr } = await place.run(['stats', '--store', url])
      expect(code).not.toBe(0)
      expect(stdout + stderr).not.toContain('hunter2')
    }
    expect(() => new Punctual(`nosuch://${where}`)).toThrow(/…@/)
  })

  it('a name or password with a stray "%" in a Redis URL is named as such', async () => {
    const place = await makePlace()
    const answer = await place.json(['stats', '--store', 'redis://me:%zz@127.0.0.1:1'])
    expect(answer).toMatchObject({ code: 'STORE_URL_INVALID' })
  })

  it('what is quoted is short, and does not reach the terminal as a command to it', async () => {
    const place = await makePlace()
    await place.run(['produce', 't', '1', '--delay', '1h'])
    const { stderr } = await place.run(['list', '--state', `\u001B[31m\u202E${'x'.repeat(100_000)}`])
    expect(stderr).toMatch(/^punctual: --state is "/)
    expect(stderr).not.toContain('\u001B')
    expect(stderr).not.toContain('\u202E')
    expect(stderr.length).toBeLessThan(500)
  })

  it('after "--" a word is no option, also for complaints', async () => {
    const place = await makePlace()
    const { stdout, stderr } = await place.run(['get', '--', '--json'])
    expect(stdout).toBe('')
    expect(stderr).toMatch(/^punctual: /)
  })
})

/** Directories in which nobody can make one, by system. */
function impossible(): string[] {
  return process.platform === 'linux' ? ['/proc/nothing', '/proc/nothing/below'] : []
}
