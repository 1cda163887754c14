/** Live events, read as a browser reads them. */
import { expect, onTestFinished } from 'vitest'
import { QUEUE, type Stand } from './stand.ts'

export type LiveEvent = { readonly event: string; readonly id?: string; readonly data: Record<string, never> }

/** Reads events as a browser does; ends with the test. `onEvent` hears each as it comes. */
export async function listen(
  { base }: Stand,
  lastId?: string,
  onEvent: (event: LiveEvent) => void = () => undefined,
  who: { readonly token?: string; readonly cookie?: string } = {},
): Promise<LiveEvent[]> {
  const over = new AbortController()
  onTestFinished(() => over.abort())
  const headers: Record<string, string> = {
    ...(lastId === undefined ? {} : { 'last-event-id': lastId }),
    ...(who.token === undefined ? {} : { authorization: `Bearer ${who.token}` }),
    ...(who.cookie === undefined ? {} : { cookie: who.cookie }),
  }
  const response = await fetch(`${base}${QUEUE}/events`, { signal: over.signal, headers })
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  const events: LiveEvent[] = []
  void read(response, (event) => {
    events.push(event)
    onEvent(event)
  }).catch(() => undefined)
  return events
}

async function read(response: Response, take: (event: LiveEvent) => void): Promise<void> {
  let text = ''
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    text += Buffer.from(chunk).toString()
    const blocks = text.split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks) {
      const fields = Object.fromEntries(
        block.split('\n').map((line) => [line.split(': ', 1)[0], line.slice(line.indexOf(': ') + 2)]),
      )
      if (fields.event !== undefined)
        take({ ...fields, data: JSON.parse(fields.data ?? 'null') } as LiveEvent)
    }
  }
  take({ event: 'end', data: {} })
}

export const named = (events: readonly LiveEvent[], name: string): LiveEvent[] =>
  events.filter(({ event }) => event === name)
