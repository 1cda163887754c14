import { expect, it, onTestFinished } from 'vitest'
import { UnavailableError } from '../../../src/index.ts'
import { makeStand, QUEUE, type Stand } from './stand.ts'

type LiveEvent = { readonly event: string; readonly id?: string; readonly data: Record<string, never> }

/** Reads events as a browser does; ends with the test. */
async function listen({ base }: Stand, lastId?: string): Promise<LiveEvent[]> {
  const over = new AbortController()
  onTestFinished(() => over.abort())
  const headers: Record<string, string> = lastId === undefined ? {} : { 'last-event-id': lastId }
  const response = await fetch(`${base}${QUEUE}/events`, { signal: over.signal, headers })
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  const events: LiveEvent[] = []
  void read(response, events).catch(() => undefined)
  return events
}

async function read(response: Response, events: LiveEvent[]): Promise<void> {
  let text = ''
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    text += Buffer.from(chunk).toString()
    const blocks = text.split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks) {
      const fields = Object.fromEntries(
        block.split('\n').map((line) => [line.split(': ', 1)[0], line.slice(line.indexOf(': ') + 2)]),
      )
      if (fields.event !== undefined) events.push({ ...fields, data: JSON.parse(fields.data ?? 'null') })
    }
  }
  events.push({ event: 'end', data: {} })
}

const named = (events: readonly LiveEvent[], name: string): LiveEvent[] =>
  events.filter(({ event }) => event === name)

it('tells counts and topics at once, changes within a second, and actions with who did them', async () => {
  const stand = await makeStand()
  const events = await listen(stand)
  await expect.poll(() => named(events, 'topics').length).toBe(1)
  expect(named(events, 'stats')[0]?.data).toMatchObject({ counts: { delayed: 0 } })
  await stand.queue.produce('t', 1, { delay: '1h', id: 'a' })
  await expect
    .poll(() => named(events, 'stats').at(-1)?.data, { timeout: 5_000 })
    .toMatchObject({ counts: { delayed: 1 } })
  await stand.call('DELETE', `${QUEUE}/messages/a`)
  await expect
    .poll(() => named(events, 'audit')[0]?.data)
    .toMatchObject({ action: 'cancel', about: 'a', who: 'local' })
})

it('one reading a second serves every listener, and none is made while nobody listens', async () => {
  const stand = await makeStand()
  let reads = 0
  const stats = stand.queue.stats.bind(stand.queue)
  stand.queue.stats = (...given) => {
    reads += 1
    return stats(...given)
  }
  const all = await Promise.all(Array.from({ length: 50 }, () => listen(stand)))
  const begun = performance.now()
  await expect.poll(() => reads, { timeout: 10_000 }).toBeGreaterThanOrEqual(3)
  expect(reads).toBeLessThanOrEqual(2 + Math.ceil((performance.now() - begun) / 1_000))
  for (const events of all) expect(named(events, 'stats').length).toBeGreaterThanOrEqual(1)
})

it('a listener that comes back hears what happened meanwhile', async () => {
  const stand = await makeStand()
  const events = await listen(stand)
  await stand.call('PUT', `${QUEUE}/topics/a/pause`, {})
  await expect.poll(() => named(events, 'audit').length).toBe(1)
  await stand.call('PUT', `${QUEUE}/topics/b/pause`, {})
  await stand.call('PUT', `${QUEUE}/topics/c/pause`, {})
  const again = await listen(stand, named(events, 'audit')[0]?.id)
  await expect.poll(() => named(again, 'audit').map(({ data }) => data.about)).toEqual(['b', 'c'])
})

it('a store that is away is told, and that it is back', async () => {
  const stand = await makeStand()
  const stats = stand.queue.stats.bind(stand.queue)
  const events = await listen(stand)
  await expect.poll(() => named(events, 'stats').length).toBe(1)
  stand.queue.stats = () =>
    Promise.reject(new UnavailableError('STORE_UNAVAILABLE', 'no answer from redis://me:pw@host'))
  await expect
    .poll(() => named(events, 'away')[0]?.data, { timeout: 5_000 })
    .toMatchObject({ code: 'STORE_UNAVAILABLE', detail: 'no answer from redis://…@host' })
  stand.queue.stats = (...given) => stats(...given)
  await expect.poll(() => named(events, 'back').length, { timeout: 5_000 }).toBe(1)
})

it('a stop ends it, after a word', async () => {
  const stand = await makeStand()
  const events = await listen(stand)
  await expect.poll(() => named(events, 'stats').length).toBe(1)
  await stand.server.close()
  await expect.poll(() => events.slice(-2).map(({ event }) => event)).toEqual(['stopping', 'end'])
})
