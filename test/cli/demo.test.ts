/** The demo without a terminal; its picture is looked at by hand, and its parts are in `view.test.ts`. */
import { describe, expect, it } from 'vitest'
import { makePlace } from './punctual.ts'

type Event = { event: string; [name: string]: unknown }

function events(stdout: string): Event[] {
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Event)
}

describe.concurrent('demo', () => {
  it('P1 P7: 5, 4, 3, 2, 1 s arrive as 1, 2, 3, 4, 5 s; it ends by itself in plain lines', async ({
    onTestFinished,
  }) => {
    const { code, stdout, stderr } = await (
      await makePlace(undefined, onTestFinished)
    ).run(['demo', '--count', '60', '--span', '3s'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect([...stdout.matchAll(/the one of (\d) s arrived/g)].map(([, s]) => s)).toEqual([
      '1',
      '2',
      '3',
      '4',
      '5',
    ])
    expect(stdout).toContain('✓ 65 of 65 arrived, 0 early, 0 lost.')
    expect(stdout).toContain('Next: "npx punctual demo --crash" kills the worker half-way.')
    expect(stdout).not.toContain('\u001B')
  })

  it('P2: stopped and run again, what was pending arrives', async ({ onTestFinished }) => {
    const shell = await makePlace(undefined, onTestFinished)
    const first = shell.start(['demo', '--count', '50', '--span', '4s', '--json'])
    await first.says('"event":"arrived"')
    first.signal('SIGINT')
    const cut = events((await first.ended).stdout).at(-1)
    expect(cut).toMatchObject({ event: 'finished', produced: 55, missing: 0, early: 0 })
    const { code, stdout } = await shell.run(['demo', '--json'])
    expect(code).toBe(0)
    expect(events(stdout)[0]).toMatchObject({ event: 'begun', messages: cut?.waiting })
    expect(events(stdout).at(-1)).toMatchObject({ produced: cut?.waiting, arrived: cut?.waiting, waiting: 0 })
  })

  it('--ui shows the dashboard until it is told to end', async ({ onTestFinished }) => {
    const shell = await makePlace(undefined, onTestFinished)
    const demo = shell.start(['demo', '--ui', '--count', '5', '--span', '1s', '--json'])
    await demo.says('"event":"finished"')
    const { address } = events(demo.stdout)[0] as unknown as { address: string }
    const page = await fetch(address)
    expect(page.headers.get('content-security-policy')).toContain("script-src 'self'")
    expect(await page.text()).toContain('<script type="module" src="/ui/app-')
    demo.signal('SIGINT')
    expect((await demo.ended).code).toBe(0)
  })

  it('P2 P6 P8: --crash kills the worker; another one completes what it had in its hands', async ({
    onTestFinished,
  }) => {
    const { code, stdout } = await (
      await makePlace(undefined, onTestFinished)
    ).run(['demo', '--crash', '--count', '120', '--span', '3s', '--json'])
    expect(code).toBe(0)
    const notes = events(stdout).filter(({ event }) => event === 'note')
    expect(notes.map(({ text }) => text)).toEqual([
      expect.stringMatching(/^worker \d+ started$/),
      expect.stringMatching(
        /^worker \d+ killed with SIGKILL, \d+ messages? in its hands; the demo's lease is 2s, the default is 15s$/,
      ),
      expect.stringMatching(/^worker \d+ started$/),
      'all of them were taken over and completed',
    ])
    expect(events(stdout).some(({ attempt }) => attempt === 2)).toBe(true)
    expect(events(stdout).at(-1)).toMatchObject({
      event: 'finished',
      produced: 125,
      arrived: 125,
      missing: 0,
    })
  })
})
