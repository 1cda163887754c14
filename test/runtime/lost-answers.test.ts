/** P2, P5: a produce whose answer was lost, and the same again. */
import { expect, it } from 'vitest'
import { makeWorld } from './world.ts'

/** Of a message that was stored and whose answer was lost, produced again a second later: how often it ran, and the error. */
async function produceAgain(options: object): Promise<{ ran: number; error: unknown }> {
  const { clock, store, queue: make } = makeWorld()
  const queue = make()
  let ran = 0
  queue.handle('t', () => void (ran += 1))
  await queue.start()
  store.fate = (verb) => (verb === 'put' ? { kind: 'lose' } : undefined)
  const error: unknown = await queue
    .produce('t', 1, { id: 'a', ...options })
    .catch((reason: unknown) => reason)
  await clock.advance('1s')
  store.fate = () => undefined
  await queue.produce('t', 1, { id: 'a', ...options })
  await clock.advance('1m')
  return { ran, error }
}

it('P2: its error names the id, and says when producing again is safe', async () => {
  const { error } = await produceAgain({})
  expect(error).toMatchObject({
    name: 'UnavailableError',
    code: 'STORE_UNAVAILABLE',
    value: 'a',
    message: expect.stringMatching(/whether "a" is stored is unknown.*"remember", or a delay longer/),
  })
})

it.each([
  [1, { delay: '10s' }],
  [1, { remember: '10s' }],
  [2, {}], // What the error, P2 and the guide warn of.
])('P5: runs %i times where it was produced with %o', async (times, options) => {
  expect((await produceAgain(options)).ran).toBe(times)
})
