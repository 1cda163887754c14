/** `pause`, `resume` and `limit`, and how the other commands show them, on a terminal of 80 columns. */
import { expect, it } from 'vitest'
import { COMMANDS, type CommandName } from '../../src/doors/cli/commands.ts'
import type { Store } from '../../src/store/contract/store.ts'
import type { VirtualClock } from '../../src/testing/index.ts'
import { ModelStore } from '../../simulation/world/model-store.ts'
import { makeWorld, type World } from '../runtime/world.ts'
import { runCommandHere } from './in-process.ts'

process.env.TZ = 'UTC'

function model(clock: VirtualClock): Store {
  return new ModelStore(() => clock.now(), { batchMax: 500, leadMs: 0 })
}

function world(): World {
  return makeWorld({ shared: true }, model)
}

async function screen({ queue, clock }: World, name: CommandName, ...words: string[]): Promise<string[]> {
  const here = { queue: queue(), clock, columns: 80 }
  const { stdout, stderr } = await runCommandHere(await COMMANDS[name](), words, here)
  return `${stdout}${stderr}`.split('\n').slice(0, -1)
}

it('pause and resume say what they did', async () => {
  const here = world()
  expect(await screen(here, 'pause', 'mail.send')).toEqual(['mail.send: paused until you resume it'])
  expect(await screen(here, 'pause')).toEqual(['the whole queue: paused until you resume it'])
  expect(await screen(here, 'pause', 'mail.send', '--until', '30m')).toEqual([
    'mail.send: paused until 2030-01-01T00:30:00.000Z (in 30m)',
  ])
  expect(await screen(here, 'pause', 'mail.send', '--until', '2030-01-01T01:00Z', '--json')).toEqual([
    '{"topic":"mail.send","paused":{"until":1893459600000}}',
  ])
  expect(await screen(here, 'resume')).toEqual(['the whole queue: resumed'])
  expect(await screen(here, 'resume', 'mail.send', '--over', '10m')).toEqual([
    'mail.send: resumed, what is due is spread over 10m',
  ])
})

it('limit sets, shows and takes back', async () => {
  const here = world()
  expect(await screen(here, 'limit', 'sms.send')).toEqual(['sms.send: no limit'])
  expect(await screen(here, 'limit', 'sms.send', '--rate', '100/1m', '--concurrency', '3')).toEqual([
    'sms.send: 100/1m, bursts of at most 1; 3 running at most',
  ])
  expect(await screen(here, 'limit', 'sms.send', '--json')).toEqual([
    '{"topic":"sms.send","limit":{"rate":"100/1m","burst":1,"concurrency":3}}',
  ])
  expect(await screen(here, 'limit', 'sms.send', '--none')).toEqual(['sms.send: no limit'])
  await expect(screen(here, 'limit', 'sms.send', '--none', '--rate', '1/s')).rejects.toThrow(
    '--none goes with no other option.',
  )
  await expect(screen(here, 'limit', 'sms.send', '--rate', 'fast')).rejects.toMatchObject({
    code: 'OPTION_INVALID',
  })
})

it('limits of keys, and the keys of a topic, are set and shown', async () => {
  const here = world()
  expect(await screen(here, 'limit', 'mail', '--per-key-concurrency', '1', '--concurrency', '9')).toEqual([
    'mail: 9 running at most; of each key: 1 running at most',
  ])
  expect(await screen(here, 'limit', 'mail', '--key', 'big', '--weight', '3')).toEqual([
    'mail, key big: weight 3',
  ])
  for (let i = 0; i < 3; i += 1) await here.queue().produce('mail', undefined, { key: 'small' })
  expect(await screen(here, 'keys', 'mail')).toEqual([
    'KEY    WAITING  RUNNING  WAITS FOR',
    'big          0        0  own limit: weight 3',
    'small        3        0',
  ])
  expect(await screen(here, 'keys', 'mail', '--limit', '1')).toHaveLength(3)
  expect(await screen(here, 'list', '--key', 'small', '--json')).toHaveLength(1)
  expect(await screen(here, 'limit', 'mail', '--key', 'big', '--none', '--json')).toEqual([
    '{"topic":"mail","key":"big","limit":null}',
  ])
  await expect(screen(here, 'limit', 'mail', '--weight', '3')).rejects.toThrow('--weight goes with --key.')
  await expect(screen(here, 'limit', 'mail', '--key', 'a', '--per-key-rate', '1/s')).rejects.toThrow(
    'for a whole topic',
  )
})

it('stats, why and doctor speak of them', async () => {
  const here = world()
  const { clock, queue: make } = here
  const queue = make()
  await queue.produce('mail.send', 1, { id: 'x' })
  await queue.produce('sms.send', 1, { id: 'y' })
  await queue.pause('mail.send')
  await queue.limit('sms.send', { rate: '100/1m' })
  await clock.advance('5s')
  const stats = await screen(here, 'stats')
  expect(stats).toContain('! "mail.send" is paused')
  expect(stats).toContain('limit    "sms.send": 100/1m, bursts of at most 1')
  expect(await screen(here, 'why', 'x')).toEqual([
    'x has been due for 5.00 s, and "mail.send" is paused',
    '"punctual resume TOPIC" lets it start.',
    'No living worker handles "mail.send" at the moment.',
  ])
  expect((await screen(here, 'doctor')).join('\n')).toContain('! topic "mail.send" is paused until somebody')
})
