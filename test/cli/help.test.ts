import { describe, expect, it, onTestFinished } from 'vitest'
import { COMMANDS } from '../../src/doors/cli/commands.ts'
import { renderCommandHelp, renderHelp } from '../../src/doors/cli/help.ts'
import { PLAIN } from '../../src/doors/cli/terminal/style.ts'
import { widthOf } from '../../src/doors/cli/terminal/width.ts'
import { RedisServer } from '../store/redis/server.ts'
import { PlaceHere } from './in-process.ts'
import { makePlace, type Place } from './punctual.ts'

const makeHere = (): Promise<Place> => makePlace(undefined, undefined, PlaceHere)

describe('help', () => {
  it('without words, the commands; it is not an error', async () => {
    const { code, stdout, stderr } = await (await makePlace()).run([])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    for (const name of Object.keys(COMMANDS)) expect(stdout).toMatch(new RegExp(`^  ${name} +\\S`, 'm'))
  })

  it('each command has one, with usage, options and examples of its own', async () => {
    const place = await makeHere()
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
    const place = await makePlace()
    for (const word of ['--version', '-v', '-V'])
      expect((await place.run([word])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
  })

  it.each([40, 80, 100, 200])(
    'fits %i columns without breaking a word, each line under its own column',
    async (columns) => {
      const commands = await Promise.all(Object.values(COMMANDS).map((load) => load()))
      const page = { style: PLAIN, columns }
      const texts = [await renderHelp(page), ...commands.map((command) => renderCommandHelp(command, page))]
      const words = new Set(texts.flatMap((text) => text.split(/\s+/)))
      for (const line of texts.flatMap((text) => text.split('\n'))) {
        // A word that is longer than a line has one of its own.
        const isOneWord = !line.replace(/ \\$/, '').replace(/^ *# /, '').trim().includes(' ')
        if (!isOneWord) expect(widthOf(line), line).toBeLessThanOrEqual(columns)
      }
      const known = commands.flatMap(({ summary, notes = [], options }) => [
        summary,
        ...notes,
        ...Object.values(options).map(({ help }) => help),
      ])
      for (const word of known.flatMap((text) => text.split(/\s+/))) expect(words).toContain(word)
      if (columns < 100) return
      const stats = renderCommandHelp(await COMMANDS.stats(), page).split('\n')
      const store = stats.findIndex((line) => line.includes('--store URL'))
      const column = stats[store]?.indexOf('file:') ?? -1
      expect(column).toBeGreaterThan(0)
      if (columns === 100) expect(stats[store + 1]?.search(/\S/)).toBe(column)
    },
  )

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
    ['list extra', /"extra" is one argument too many; usage: punctual list\./],
    ['list --state gone', /--state is "gone"; give one of: delayed, ready, running, dead\./],
    ['list --limit 0', /--limit is "0"; give a whole number from 1 to 1000\./],
    ['get', /missing argument: ID; usage: punctual get ID\./],
    ['produce t {', /the payload \{ is not JSON/],
    ['produce t 1 --delay 1m --at 2030-01-01', /--delay and --at together/],
    ['produce t 1 --delay soon', /delay is "soon"; give milliseconds/],
    ['produce t 1 --at tomorrow', /--at is "tomorrow"; write 2030-01-01T09:00Z/],
    ['produce t 1 --at 2030-02-31', /--at is "2030-02-31", which does not exist in the local zone/],
    ['produce t 1 --priority urgent', /priority is "urgent"; give one of: high, normal, low\./],
    ['reschedule x', /give --delay or --at\./],
    ['revive', /give ids, or --all, --topic, --tag or --key; "punctual dead" lists the dead letters\./],
    ['revive x --all', /give ids, or --all, --topic, --tag or --key; not both\./],
    [
      'completion',
      /missing argument: one of bash, zsh, fish; usage: punctual completion bash \| zsh \| fish\./,
    ],
    ['schedule', /missing argument: one of set, list, remove, pause, resume, next; usage/],
    ['export', /there is no command "export"\. "punctual list --all --json" prints every message\./],
    ['--limit 5 list', /"--limit" stands before the command; it comes after it: punctual COMMAND --limit\./],
    ['--queue q stauts', /there is no command "stauts"\. Did you mean "stats"\?/],
    ['--queue=q --store', /--store needs a value: --store URL; and the command is missing: punctual/],
    ['--queue q', /: the command is missing: punctual \[OPTIONS\] COMMAND\./],
    [
      'produce t 1 --delay 30',
      /delay is "30"; a text needs its unit: "30ms", "30s", "30m", "30h" or "30d"\./,
    ],
    ['schedule next --cron 99', /cron is "99": [^.]*\. Give five fields/],
    ['purge', /give ids, or --state, --topic, --tag or --key\./],
    ['purge --state running', /--state is "running"; give one of: delayed, ready, dead\./],
    ['work', /nothing to do; give FILE, --exec or --webhook\./],
    ['work --exec ls', /--exec is "ls"; write --exec TOPIC=COMMAND\./],
    ['work --webhook t=nowhere', /"nowhere" is no address/],
    [
      'work --webhook t=https://x.example --header nothing',
      /--header "" is no header; write --header 'NAME: VALUE'\./,
    ],
    [
      'work --webhook t=https://x.example --header Webhook-Id:x',
      /--header "webhook-id" is set by punctual itself\./,
    ],
    ['work nowhere.ts', /there is no file .*nowhere\.ts\./],
    ['stats --store mysql2:', /store is "mysql2:"; it begins with one of: /],
    ['produce t --store memory:', /a memory store would end with this command/],
    ['demo --span 1y', /--span is "1y"/],
  ]

  it('exit code 2, one line that says what and how, and nothing on standard output', async () => {
    const place = await makeHere()
    await place.run(['produce', 't'])
    for (const [words, complaint] of wrong) {
      const { code, stdout, stderr } = await place.run(words.split(' '))
      expect({ words, code, stdout }).toEqual({ words, code: 2, stdout: '' })
      expect(stderr).toMatch(complaint)
      expect(stderr).toMatch(/^punctual: [^\n]+\n$/)
    }
  })

  it('the same of the binary', async () => {
    const { code, stdout, stderr } = await (await makePlace()).run(['get'])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/^punctual: missing argument: ID[^\n]+\n$/)
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
      page: 'punctual/docs/errors.md#store_unavailable',
      code: 'STORE_UNAVAILABLE',
    })
    expect(await place.run(['produce', 't'])).toMatchObject({ code: 1, stdout: '' })
  })

  it('one that refuses the password is a failure, and the hint shows how to write it', async () => {
    const server = await RedisServer.start()
    onTestFinished(() => server.stop())
    await server.admin(['CONFIG', 'SET', 'requirepass', 'secret'])
    const place = await makePlace(`redis://127.0.0.1:${server.port}`)
    const { code, stdout, stderr } = await place.run(['produce', 't'])
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain('redis://:PASSWORD@host or redis://USER:PASSWORD@host')
    const wrong = await makePlace(`redis://:guess@127.0.0.1:${server.port}`)
    const refused = await wrong.run(['produce', 't'])
    expect(refused.code).toBe(1)
    expect(refused.stderr).not.toContain('guess')
  })

  it('one that does not answer is one line, and exit code 1', async () => {
    const place = await makePlace('redis://127.0.0.1:1?callTimeout=500ms')
    const { code, stdout, stderr } = await place.run(['stats'])
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/^punctual: redis:\/\/127\.0\.0\.1:1[^\n]+\n$/)
  })
})
