/**
 * The bridge beside its peers on one broker, in one run:
 *
 *   npm run bench:amqp -- [--seconds 8] [--burst 20000] [--waiting 1000000] [--store URL] [--only five,paced,burst,in,verbs]
 *   npm run bench:amqp -- clients        the fault probe of the client libraries
 */
import { parseArgs } from 'node:util'
import { RabbitServer } from '../../test/doors/amqp/server.ts'
import { bridge, cascade, declareTarget, direct, naive, timed, type Contestant } from './contestants.ts'
import { burst, five, paced, taken, verbs, warm, type Figures } from './workloads.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '8' },
    burst: { type: 'string', default: '20000' },
    waiting: { type: 'string', default: '1000000' },
    store: { type: 'string' },
    only: { type: 'string', default: 'five,paced,burst,in,verbs' },
  },
})
const asked = new Set(values.only.split(','))

function print(what: string, who: string, figures: Figures): void {
  const text = Object.entries(figures).map(([name, value]) => `${name} ${value}`)
  process.stdout.write(`${what.padEnd(14)}${who.padEnd(30)}${text.join(', ')}\n`)
}

const floor = (): Promise<Contestant> => Promise.resolve(timed())

/** Each contestant runs alone. */
async function each(
  makers: readonly (() => Promise<Contestant>)[],
  what: string,
  run: (contestant: Contestant) => Promise<Figures>,
): Promise<void> {
  for (const make of makers) {
    const contestant = await make()
    try {
      print(what, contestant.name, await run(contestant))
    } finally {
      await contestant.stop()
    }
  }
}

async function main(): Promise<void> {
  const server = await RabbitServer.start()
  const { url } = server
  try {
    await declareTarget(url)
    const ours = (): Promise<Contestant> => bridge(url, values.store)
    const seconds = (): Promise<Contestant> => cascade(url, 1_000)
    const exact = (): Promise<Contestant> => cascade(url, 1)
    if (asked.has('five')) {
      await each([() => naive(url), seconds, ours], '5,4,3,2,1 s', async (contestant) => {
        if (contestant.name !== 'naive TTL') await warm(url, contestant)
        return five(url, contestant)
      })
    }
    if (asked.has('paced')) {
      for (const rate of [500, 2_000]) {
        await each([floor, seconds, exact, ours], `${rate}/s`, async (contestant) => {
          await warm(url, contestant)
          return paced(url, contestant, rate, Number(values.seconds))
        })
      }
    }
    const count = Number(values.burst)
    if (asked.has('burst')) await each([exact, ours], `burst ${count}`, (c) => burst(url, c, count))
    if (asked.has('in')) {
      await each([() => Promise.resolve(direct()), exact], `in ${count}`, (c) => taken(url, c, count))
      const made = await bridge(url, values.store)
      print(`in ${count}`, made.name, await taken(url, made, count, made.store))
      await made.stop()
    }
    if (asked.has('verbs')) {
      const made = await bridge(url, values.store)
      print('verbs', made.name, await verbs(url, made.store, Number(values.waiting), 1_000))
      await made.stop()
    }
  } finally {
    await server.stop()
  }
}

if (positionals[0] === 'clients') {
  const server = await RabbitServer.start()
  const { probe } = await import('./clients.mjs')
  await probe(server)
  await server.stop()
} else await main()
