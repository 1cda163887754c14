import { expect, it } from 'vitest'
import { DeadLetter, type Punctual } from '../../../src/index.ts'
import { makeStand, QUEUE, type Answered, type Stand } from './stand.ts'

const BULK = `${QUEUE}/bulk`

async function produceMany(queue: Punctual, count: number, topic = 't'): Promise<void> {
  for (let from = 0; from < count; from += 5_000)
    await queue.produceMany(
      Array.from({ length: Math.min(5_000, count - from) }, (_, i) => ({
        topic,
        payload: from + i,
        delay: '1h' as const,
      })),
    )
}

/** The dry run, and then the job until it has ended. */
async function confirmed(
  { call }: Stand,
  asked: object,
): Promise<{ preview: Answered; job: Answered['json'] }> {
  const preview = await call('POST', BULK, { ...asked, dryRun: true })
  const begun = await call('POST', BULK, { ...asked, confirm: preview.json.confirm })
  expect(begun).toMatchObject({ status: 202 })
  const path = begun.headers.get('location') ?? ''
  let job = begun.json
  await expect
    .poll(async () => {
      job = (await call('GET', path)).json
      return job.state
    })
    .not.toBe('running')
  return { preview, job }
}

it('a dry run says how many and which, and changes nothing; the confirmed call does it', async () => {
  const stand = await makeStand()
  await produceMany(stand.queue, 1_200)
  await produceMany(stand.queue, 3, 'other')
  const { preview, job } = await confirmed(stand, { action: 'cancel', filter: { topic: 't' } })
  expect(preview.json).toMatchObject({ matches: 1_200, isAtLeast: false })
  expect(preview.json.sample).toHaveLength(5)
  expect(job).toMatchObject({ state: 'done', done: 1_200, confirmed: 1_200, who: 'local' })
  expect((await stand.queue.stats()).counts.delayed).toBe(3)
  expect((await stand.call('GET', BULK)).json.items).toMatchObject([{ id: job.id }])
  expect((await stand.call('GET', '/v1/audit')).json.items?.[0]).toMatchObject({
    action: 'bulk cancel',
    count: 1_200,
  })
})

it('nothing without the confirmation of this very call', async () => {
  const stand = await makeStand()
  const { call } = stand
  await produceMany(stand.queue, 3)
  const asked = { action: 'purge', filter: { topic: 't', state: 'delayed' } }
  const { json } = await call('POST', BULK, { ...asked, dryRun: true })
  for (const wrong of [
    asked,
    { ...asked, confirm: 'x.y' },
    { ...asked, filter: { topic: 't' }, confirm: json.confirm },
    { ...asked, action: 'cancel', confirm: json.confirm },
  ])
    expect(await call('POST', BULK, wrong)).toMatchObject({ status: 409, json: { code: 'CONFIRM_INVALID' } })
  expect(await call('POST', BULK, { action: 'cancel', filter: {}, dryRun: true })).toMatchObject({
    status: 400,
    json: { code: 'FILTER_INVALID' },
  })
  expect(
    await call('POST', BULK, { action: 'reschedule', filter: { topic: 't' }, dryRun: true }),
  ).toMatchObject({ status: 400 })
  // In another order it is the same call.
  const again = { confirm: json.confirm, filter: { state: 'delayed', topic: 't' }, action: 'purge' }
  expect(await call('POST', BULK, again)).toMatchObject({ status: 202 })
})

it('past 10,000 that must be looked through, the count is "at least"', async () => {
  const stand = await makeStand()
  await produceMany(stand.queue, 10_500)
  const asked = { action: 'cancel', filter: { topic: 't', text: '1' }, dryRun: true }
  const counted = await stand.call('POST', BULK, { ...asked, filter: { topic: 't' } })
  expect(counted.json).toMatchObject({ matches: 10_500, isAtLeast: false })
  const { json } = await stand.call('POST', BULK, { ...asked, filter: { topic: 't', olderThan: 0 } })
  expect(json).toMatchObject({ matches: 10_000, isAtLeast: true })
})

it('stops by itself at 1.1 x what was confirmed', async () => {
  const stand = await makeStand()
  await produceMany(stand.queue, 100)
  const asked = { action: 'cancel', filter: { topic: 't' } }
  const { json } = await stand.call('POST', BULK, { ...asked, dryRun: true })
  await produceMany(stand.queue, 900)
  const { job } = await (async () => {
    const begun = await stand.call('POST', BULK, { ...asked, confirm: json.confirm })
    let seen = begun.json
    await expect
      .poll(async () => (seen = (await stand.call('GET', begun.headers.get('location') ?? '')).json).state)
      .toBe('capped')
    return { job: seen }
  })()
  expect(job).toMatchObject({ done: 110, confirmed: 100 })
  expect((await stand.queue.stats()).counts.delayed).toBe(890)
})

it('spreads a burst: moved to its moment, each by its share', async () => {
  const stand = await makeStand()
  const at = Date.now() + 3_600_000
  await stand.queue.produceMany(Array.from({ length: 200 }, (_, i) => ({ topic: 't', payload: i, at })))
  const filter = { state: 'delayed', dueFrom: at, dueUntil: at + 1 }
  const { job } = await confirmed(stand, { action: 'reschedule', filter, at, spread: '10m' })
  expect(job).toMatchObject({ state: 'done', done: 200 })
  const { bars } = await stand.queue.forecast({ from: at, until: at + 600_000, bars: 10 })
  expect(bars.reduce((sum, { count }) => sum + count, 0)).toBe(200)
  expect(Math.max(...bars.map(({ count }) => count))).toBeLessThan(60)
})

it('can be stopped, and what is done stays done', async () => {
  const stand = await makeStand()
  await produceMany(stand.queue, 500)
  stand.queue.handle('t', () => {
    throw new DeadLetter('no use')
  })
  for (const { id } of (await stand.queue.list({ limit: 500 })).items)
    await stand.queue.reschedule(id, { delay: 0 })
  await stand.queue.start()
  await expect.poll(async () => (await stand.queue.stats()).counts.dead, { timeout: 20_000 }).toBe(500)
  const asked = { action: 'revive', filter: { state: 'dead' }, rate: '10/1s' }
  await stand.queue.pause('t')
  const { json } = await stand.call('POST', BULK, { ...asked, dryRun: true })
  const begun = await stand.call('POST', BULK, { ...asked, confirm: json.confirm })
  const path = begun.headers.get('location') ?? ''
  await expect.poll(async () => Number((await stand.call('GET', path)).json.done)).toBeGreaterThanOrEqual(10)
  await stand.call('DELETE', path)
  await expect.poll(async () => (await stand.call('GET', path)).json.state).toBe('stopped')
  const { done } = (await stand.call('GET', path)).json
  expect((await stand.queue.stats()).counts).toMatchObject({ dead: 500 - Number(done), ready: Number(done) })
})

it('dead messages are grouped by error, and one group is revived', async () => {
  const stand = await makeStand()
  stand.queue.handle('t', ({ payload }) => {
    throw new DeadLetter(Number(payload) % 3 === 0 ? 'card refused' : 'no such customer')
  })
  await stand.queue.produceMany(Array.from({ length: 30 }, (_, i) => ({ topic: 't', payload: i })))
  await stand.queue.start()
  await expect.poll(async () => (await stand.queue.stats()).counts.dead).toBe(30)
  await stand.queue.pause('t')
  const { json } = await stand.call('GET', `${QUEUE}/dead`)
  expect(json).toMatchObject({
    isComplete: true,
    groups: [
      { reason: 'no such customer', count: 20 },
      { reason: 'card refused', count: 10 },
    ],
  })
  const key = json.groups?.[1]?.key
  const { job, preview } = await confirmed(stand, { action: 'revive', filter: { state: 'dead', group: key } })
  expect(preview.json.matches).toBe(10)
  expect(job).toMatchObject({ state: 'done', done: 10 })
  expect((await stand.queue.stats()).counts).toMatchObject({ dead: 20, ready: 10 })
})
