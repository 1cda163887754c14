/** An empty queue teaches: two ways to give it something, and then one sees it arrive. */
import type { JSX } from 'preact'
import { Copyable } from '../parts/copy.tsx'
import { Empty } from '../parts/notice.tsx'
import { place } from '../state/address.ts'
import { server } from '../state/session.ts'
import { inQueue } from '../state/api.ts'
import { asCurl } from '../state/curl.ts'

export function FirstMessage(): JSX.Element {
  const { queue = '' } = place.value
  const store = server.value?.storeName
  const options = { ...(store === undefined || store === '' ? {} : { store }), queue }
  const body = { topic: 'hello', payload: { name: 'world' }, delay: '10s' }
  return (
    <Empty title="Nothing waits.">
      <p>Produce a message that is due in ten seconds, and watch it come closer below.</p>
      <Copyable label="with curl" text={asCurl('POST', inQueue('messages'), body)} />
      <Copyable
        label="in TypeScript"
        text={`const queue = new Punctual(${JSON.stringify(options)})\nawait queue.produce('hello', { name: 'world' }, { delay: '10s' })`}
      />
    </Empty>
  )
}
