// The workloads. Each takes a contestant and sizes, and answers figures; every count is proved before a figure exists.
import { openStage, pause } from './stage.mjs'

const HOUR_MS = 3_600_000
const HEADSTART_MS = 1_500
/** Whole seconds only: what is due in an hour must be a whole second there, or it would be "early" by rounding. */
const inAnHour = () => ({ kind: 'at', at: Date.now() + HOUR_MS })

/** What grows with `npm run bench:growth`: workers, payload, topics; the defaults are those of the stage. */
async function onStage(contestant, sizes, work) {
  const stage = await openStage(contestant, sizes)
  try {
    return await work(stage)
  } finally {
    await stage.close()
  }
}

async function preload(stage, backlog) {
  if (backlog === 0) return
  const due = { kind: 'spread', at: Date.now() + HOUR_MS, overMs: HOUR_MS, count: backlog }
  await stage.producer.ask('produceBulk', { from: 0, size: backlog, due })
}

const perSecond = (size, ms) => (size / ms) * 1000

/** Schedules messages due in an hour: by single calls, 100 in flight, or in bulk. */
function schedule(verb) {
  return (contestant, sizes) =>
    onStage(contestant, sizes, async ({ producer, server, ...stage }) => {
      const { w1, backlog = 0 } = sizes
      await preload({ producer, ...stage }, backlog)
      // The first calls compile scripts and warm up the code on both sides: not what is measured.
      await producer.ask(verb, { from: 0, size: 2_000, due: inAnHour(), inFlight: 100 })
      const before = await server.usedBytes?.()
      const { ms } = await producer.ask(verb, { from: 2_000, size: w1, due: inAnHour(), inFlight: 100 })
      const after = await server.usedBytes?.()
      return {
        'messages/s': perSecond(w1, ms),
        ...(before === undefined ? {} : { 'bytes/message': (after - before) / w1 }),
      }
    })
}

async function onTime(stage, size, overMs) {
  const at = Math.ceil(Date.now() / 1000) * 1000 + HEADSTART_MS + size / 20
  await stage.producer.ask('produceBulk', { from: 0, size, due: { kind: 'spread', at, overMs, count: size } })
  const { lateness } = await stage.account(size)
  return { 'p50 ms': lateness.p50, 'p99 ms': lateness.p99, 'p99.9 ms': lateness.p999, 'max ms': lateness.max }
}

function punctuality(contestant, sizes) {
  return onStage(contestant, sizes, async (stage) => {
    await preload(stage, sizes.backlog ?? 0)
    await stage.openWorkers()
    return onTime(stage, sizes.w2, sizes.w2OverMs)
  })
}

export async function burst(stage, size) {
  const at = Math.ceil(Date.now() / 1000) * 1000 + HEADSTART_MS + size / 20
  await stage.producer.ask('produceBulk', { from: 0, size, due: { kind: 'at', at } })
  const { lastAt } = await stage.account(size)
  return { 'ms to the last': lastAt - at }
}

export const WORKLOADS = {
  W1a: { title: 'schedule, 100 single calls in flight', run: schedule('produceSingle') },
  W1b: { title: 'schedule, bulk', run: schedule('produceBulk') },
  W2: {
    title: 'on time: spread over 10 s',
    run: punctuality,
  },
  W3: {
    title: 'burst: all due at one instant',
    run: (contestant, sizes) =>
      onStage(contestant, sizes, async (stage) => {
        await stage.openWorkers()
        return burst(stage, sizes.w3)
      }),
  },
  W4: {
    title: 'immediate: preloaded, then drained',
    run: (contestant, sizes) =>
      onStage(contestant, sizes, async (stage) => {
        const { w4, backlog = 0 } = sizes
        await preload(stage, backlog)
        await stage.producer.ask('produceBulk', { from: 0, size: w4, due: { kind: 'now' } })
        const startedAt = await stage.openWorkers()
        const { firstAt, lastAt } = await stage.account(w4)
        // From the first handler to the last; loading the client library and connecting are shown beside it.
        return { 'messages/s': perSecond(w4, lastAt - firstAt), 'ms to the first': firstAt - startedAt }
      }),
  },
  W5: {
    title: 'sparse: one at a time',
    run: (contestant, { w5 }) =>
      onStage(contestant, {}, async (stage) => {
        await stage.openWorkers()
        await stage.producer.ask('produceSparse', { size: w5, minMs: 20, maxMs: 200 })
        const { lateness } = await stage.account(w5)
        return { 'p50 ms': lateness.p50, 'p99 ms': lateness.p99 }
      }),
  },
  W6: {
    title: 'idle: one message due in an hour',
    run: (contestant, { w6Ms }) =>
      onStage(contestant, {}, async (stage) => {
        await stage.openWorkers()
        await stage.producer.ask('produceSingle', { from: 0, size: 1, due: inAnHour(), inFlight: 1 })
        await pause(3_000)
        const [calls, usage] = [await stage.server.clientCalls?.(), await stage.crew[0].ask('usage')]
        await pause(w6Ms)
        const [callsAfter, usageAfter] = [
          await stage.server.clientCalls?.(),
          await stage.crew[0].ask('usage'),
        ]
        return {
          ...(calls === undefined ? {} : { 'calls/s': perSecond(callsAfter - calls, w6Ms) }),
          'cpu %': ((usageAfter.cpuMs - usage.cpuMs) / w6Ms) * 100,
        }
      }),
  },
  W7a: {
    title: 'schedule by single calls behind a backlog',
    run: (contestant, sizes) => schedule('produceSingle')(contestant, { ...sizes, backlog: sizes.w7 }),
  },
  W7b: {
    title: 'on time behind a backlog',
    run: (contestant, sizes) => punctuality(contestant, { ...sizes, backlog: sizes.w7 }),
  },
  W8a: {
    title: 'on time, 16 worker processes',
    run: many((stage, { w2, w2OverMs }) => onTime(stage, w2, w2OverMs), 'w2'),
  },
  W8b: { title: 'burst, 16 worker processes', run: many((stage, { w3 }) => burst(stage, w3), 'w3') },
}

/** With a herd of workers, also how many calls the server gets for each message. */
function many(work, size) {
  return (contestant, sizes) =>
    onStage(contestant, { ...sizes, workers: sizes.w8 }, async (stage) => {
      await stage.openWorkers()
      const before = await stage.server.clientCalls?.()
      const figures = await work(stage, sizes)
      const after = await stage.server.clientCalls?.()
      return before === undefined ? figures : { ...figures, 'calls/message': (after - before) / sizes[size] }
    })
}

/** The sizes of the issue, and a share of them that proves the counts in seconds. */
export const SIZES = {
  full: {
    w1: 50_000,
    w2: 20_000,
    w2OverMs: 10_000,
    w3: 20_000,
    w4: 50_000,
    w5: 200,
    w6Ms: 10_000,
    w7: 1_000_000,
    w8: 16,
  },
  small: { w1: 2_000, w2: 400, w2OverMs: 1_000, w3: 400, w4: 1_000, w5: 5, w6Ms: 1_000, w7: 5_000, w8: 3 },
}
