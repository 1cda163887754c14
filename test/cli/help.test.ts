import { describe, expect, it } from 'vitest'
import { COMMANDS } from '../../src/doors/cli/commands.ts'
import { makePlace } from './punctual.ts'

describe('help', () => {
  it('without words, the commands; it is not an error', async () => {
    const { code, stdout, stderr } = await (await makePlace()).run([])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    for (const name of Object.keys(COMMANDS)) expect(stdout).toMatch(new RegExp(`^  ${name} +\\S`, 'm'))
  })

  it('each command has one, with usage, options and examples of its own', async () => {
    const place = await makePlace()
    const names = Object.keys(COMMANDS)
    const answers = await Promise.all(names.map((name) => place.run([name, '--help'])))
    for (const [i, { code, stdout }] of answers.entries()) {
      expect(code).toBe(0)
      expect(stdout).toContain(`punctual ${names[i]}: `)
      expect(stdout).toContain('--store URL')
      expect(stdout).toMatch(/\nExamples\n {2}# .+\n {2}punctual /)
    }
    const { stdout } = await place.run(['help', 'produce'])
    expect(stdout).toBe(answers[names.indexOf('produce')]?.stdout)
  })

  it('the version is that of the package', async () => {
    expect((await (await makePlace()).run(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
  })

  it('no colours into a pipe', async () => {
    const { stdout } = await (await makePlace()).run(['--help'])
    expect(stdout).not.toContain('\u001B')
  })
})

describe('wrong usage', () => {
  const wrong: readonly [words: string, complaint: RegExp][] = [
    ['lst', /no command "lst"\. Did you mean "list"\? See "punctual --help"\./],
    ['list --stat dead', /list has no option --stat\. Did you mean --state\? See "punctual list --help"\./],
    ['list --state', /--state needs a value: --state STATE\./],
    ['list --all=1', /--all takes no value, and was given "1"\./],
    ['list extra', /"extra" is one word too many; usage: punctual list\./],
    ['list --state gone', /--state is "gone"; give one of: delayed, ready, running, dead\./],
    ['list --limit 0', /--limit is "0"; give a whole number from 1 to 1000\./],
    ['get', /too few words; usage: punctual get ID\./],
    ['produce t {', /the payload \{ is not JSON/],
    ['produce t 1 --delay 1m --at 2030-01-01', /--delay and --at together/],
    ['produce t 1 --delay soon', /delay is "soon"; give milliseconds/],
    ['produce t 1 --at tomorrow', /--at is "tomorrow"; write 2030-01-01T09:00Z/],
    ['produce t 1 --at 2030-02-31', /--at is "2030-02-31", which does not exist in the local zone/],
    ['produce t 1 --priority urgent', /priority is "urgent"; give one of: high, normal, low\./],
    ['reschedule x', /give --delay or --at\./],
    ['revive', /give ids, or --all, --topic or --tag; not both\./],
    ['purge', /give ids, or --state, --topic or --tag\./],
    ['purge --state running', /--state is "running"; give one of: delayed, ready, dead\./],
    ['work', /nothing to do; give FILE, --exec or --webhook\./],
    ['work --exec ls', /--exec is "ls"; write --exec TOPIC=COMMAND\./],
    ['work --webhook t=nowhere', /"nowhere" is no address/],
    ['work nowhere.ts', /there is no file .*nowhere\.ts\./],
    ['stats --store mysql2:', /store is "mysql2:"; it begins with one of: /],
    ['produce t --store memory:', /a memory store would end with this command/],
    ['demo --span 1y', /--span is "1y"/],
  ]

  it('exit code 2, one line that says what and how, and nothing on standard output', async () => {
    const place = await makePlace()
    await place.run(['produce', 't'])
    for (let from = 0; from < wrong.length; from += 4) {
      await Promise.all(
        wrong.slice(from, from + 4).map(async ([words, complaint]) => {
          const { code, stdout, stderr } = await place.run(words.split(' '))
          expect({ words, code, stdout }).toEqual({ words, code: 2, stdout: '' })
          expect(stderr).toMatch(complaint)
          expect(stderr).toMatch(/^punctual: [^\n]+\n$/)
        }),
      )
    }
  })

  it('with --json the complaint is a document, with a code: the library’s, or the command line’s own', async () => {
    const place = await makePlace()
    expect(await place.json(['produce', '', '1'])).toMatchObject({ code: 'TOPIC_INVALID' })
    expect(await place.json(['nothing'])).toEqual({
      error: expect.stringContaining('no command "nothing"') as string,
      code: 'CALL_INVALID',
    })
  })
})

describe('a store that is not there', () => {
  it('is not made by a look at it', async () => {
    const place = await makePlace('file:misspelt')
    const { code, stderr } = await place.run(['stats'])
    expect(code).toBe(1)
    expect(stderr).toBe(
      'punctual: there is no store at file:misspelt; name one with --store URL or PUNCTUAL_STORE.\n',
    )
  })

  it('one where nobody listens is not waited for', async () => {
    const place = await makePlace('redis://127.0.0.1:1?callTimeout=10m&connectTimeout=10m')
    expect(await place.json(['stats'])).toEqual({
      error: expect.stringMatching(/^redis:\/\/127\.0\.0\.1:1 is not reachable \(ECONNREFUSED\)/) as string,
      code: 'STORE_UNAVAILABLE',
    })
    expect(await place.run(['produce', 't'])).toMatchObject({ code: 1, stdout: '' })
  })

  it('one that does not answer is one line, and exit code 1', async () => {
    const place = await makePlace('redis://127.0.0.1:1?callTimeout=500ms')
    const { code, stdout, stderr } = await place.run(['stats'])
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/^punctual: redis:\/\/127\.0\.0\.1:1[^\n]+\n$/)
  })
})
