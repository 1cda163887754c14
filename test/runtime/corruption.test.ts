/** Bytes in the store that nobody of us wrote: they cost their own message, and nothing else. */
import { describe, expect, it } from 'vitest'
import { takeCensus } from '../../src/testing/index.ts'
import type { NewMessage } from '../../src/store/contract/store.ts'
import { makeWorld } from './world.ts'

const SOUND: NewMessage = {
  id: 'sound',
  topic: 't',
  body: '1',
  meta: '',
  priority: 1,
  when: { delayMs: 0 },
  ifExists: 'keep',
}

const METAS = ['rubbish', '{', 'null', '5', '[]', '{"retry":5}', '{"ttlMs":"soon"}', '{"retry":{"limit":1}}']

describe('corrupt bytes in the store', () => {
  it.each(METAS)(
    'P2: a policy that cannot be read (%s) makes one dead letter; all else goes on',
    async (meta) => {
      const { clock, memory, queue: make } = makeWorld()
      const queue = make()
      const done: string[] = []
      queue.handle('t', ({ id }) => void done.push(id))
      await memory.put([
        { ...SOUND, id: 'before' },
        { ...SOUND, id: 'corrupt', meta },
        { ...SOUND, id: 'after' },
      ])
      await queue.start()
      await clock.advance('1m')
      expect(done).toEqual(['before', 'after'])
      const { messages } = await takeCensus(memory)
      expect(messages).toMatchObject([{ id: 'corrupt', state: 'dead', reason: 'unreadable' }])
      expect((await queue.list()).items).toMatchObject([{ id: 'corrupt', state: 'dead' }])
    },
  )

  it('P6: one whose worker died does not keep the reaper from the others', async () => {
    const { clock, memory, queue: make } = makeWorld()
    await memory.put([{ ...SOUND, id: 'corrupt', meta: 'rubbish' }, SOUND])
    await memory.claim({
      from: 'due',
      owner: 'test',
      bytesMax: 2 ** 30,
      wants: [{ topic: 't', limit: 9 }],
      limit: 9,
      leaseMs: 1_000,
      leadMs: 0,
    })
    const queue = make({ retry: { limit: 3, delays: ['1s'] } })
    const done: string[] = []
    queue.handle('t', ({ id }) => void done.push(id))
    await queue.start()
    await clock.advance('2m')
    expect(done).toEqual(['sound'])
    expect((await takeCensus(memory)).places).toEqual(new Map([['corrupt', 'dead']]))
  })

  it('a body that cannot be read makes one dead letter', async () => {
    const { clock, memory, queue: make } = makeWorld()
    const queue = make()
    const done: string[] = []
    queue.handle('t', ({ id }) => void done.push(id))
    await memory.put([{ ...SOUND, id: 'corrupt', body: '{"half' }, SOUND])
    await queue.start()
    await clock.advance('1m')
    expect(done).toEqual(['sound'])
    expect((await queue.list()).items).toMatchObject([
      { id: 'corrupt', reason: 'unreadable', unreadable: '{"half' },
    ])
  })
})
