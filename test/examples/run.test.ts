/** Every example runs, ends by itself, and shows what it says. */
import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { PACKAGES_OF } from '../../scripts/example-project.mjs'

const ROOT = resolve(import.meta.dirname, '../..')
const run = promisify(execFile)

/** What its output must show. */
const SHOWS: Readonly<Record<string, RegExp>> = {
  'hello-delay': /after 100 ms.*\n.*after 200 ms.*\n.*after 300 ms.*\n.*after 400 ms.*\n.*after 500 ms/,
  'unpaid-order': /after half an hour: order-1 closed, order-2 paid; 4 teapots in stock/,
  'daily-report':
    /Fri.*08:00 UTC\n.*archived.*\nreport on Sat.*08:00 UTC\n.*\nreport on Sun.*07:00 UTC\n.*\nreport on Mon.*07:00 UTC\n.*\nfired 4, skipped 0/,
  'ride-rating': /★★★☆☆ {2}to the station\n★★★★★ {2}to the airport/,
  'future-mail': /Subject: Do you still like tea\?/,
  'local-time':
    /tokyo: Thursday.* at 09:00.*\nsms: Thursday, 24 .* at 08:00.*\ndigest: Thursday, 24 .* at 09:00.*\ndigest: Monday, 28 .* at 09:00.*\ninvoice: Monday, 28 .* at 10:00.*\ndigest: Tuesday/,
  'api-limits':
    /limit: 100 of 100 sent in 30 seconds, 0 refused\nevent: sms\.send is paused\npaused: 0 of 60 sent in 10 minutes\nresumed over a minute: 2[0-2] of 60 sent after 20 seconds\nand 60 after a minute, 0 refused/,
  'typed-topics': /TOPIC_UNKNOWN: .*\nPAYLOAD_MISMATCH: .*\nto ada@example\.org: \(no subject\)/,
  tenants:
    /without keys.*\n {2}acme .*\n {2}zoe .* 10 mails: half within (?:[4-9]\d\d|1000) ms.*\nwith \{ key.*\n.*10000 mails.*\n {2}zoe .* 10 mails: half within \d ms, all within \d\d? ms/,
  rabbitmq:
    /dead letters: 5 .* {2}4 .* {2}3 .* {2}2 .* {2}1 .*\nthrough the bridge: {3}1 .* {2}2 .* {2}3 .* {2}4 .* {2}5 .*\ncancel order-6: .*"cancelled"|^skipped/,
  'workers-elsewhere': /12 of 12 done, by bash and python|12 of 12 done, by (?:bash|python)|^skipped/,
  outbox:
    /order 3: the card was refused, nothing is stored\norder 1: closed, not paid\n1 closed, 2 paid|^skipped/,
  'redis-workers': /200 of 200 done, \d+ of them started again after the crash, none left|^skipped/,
}

/** The log of the workers that took over in `redis-workers`; how many lines depends on what the killed one had begun. */
const TELLS_OF_THE_CRASH =
  /^punctual: .*the lease ended without an answer: the worker died or was cut off\n/gm

/** Of bash in `workers-elsewhere`, when the signal that ends it hits a command that it is just waiting for. */
const TELLS_OF_THE_END = /^Terminated\n/gm

it('each is listed here', () => {
  // Applications have tests of their own, by their name.
  const all = [...Object.keys(SHOWS), ...Object.keys(PACKAGES_OF)]
  expect(all.toSorted()).toEqual(readdirSync(join(ROOT, 'examples')).toSorted())
})

/** With words behind its name. */
const VARIANTS: readonly (readonly [call: string, shows: RegExp | undefined])[] = [
  ['redis-workers cluster', SHOWS['redis-workers']],
]

it.each([...Object.entries(SHOWS), ...VARIANTS])('%s', async (call, shows = /^$/) => {
  const words = ['scripts/example.mjs', ...call.split(' ')]
  const { stdout, stderr } = await run(process.execPath, words, { cwd: ROOT })
  expect(stdout).toMatch(shows)
  expect(stderr.replaceAll(TELLS_OF_THE_CRASH, '').replaceAll(TELLS_OF_THE_END, '')).toBe('')
})
