/** What was in hand whenever its worker died is named. */
import { expect, it } from 'vitest'
import { claimDue } from '../../src/testing/conformance/stand.ts'
import { makeWorld } from '../runtime/world.ts'

it('why and doctor name a message that was in hand in each of the last crashes', async () => {
  const { memory, queue: makeQueue } = makeWorld()
  const queue = makeQueue()
  await queue.produce('t', null, { id: 'poison' })
  await queue.produce('t', null, { id: 'innocent', delay: '1h' })
  const crash = async (kind: 'lapse' | 'dead'): Promise<void> => {
    const leases = await claimDue(memory, 1, ['t'])
    await memory.settle(leases.map((lease) => ({ ...lease, kind, reason: 'lapsed', error: 'no answer' })))
  }
  const told = async (): Promise<string[]> => (await queue.doctor()).map(({ what }) => what)
  await crash('lapse')
  await crash('lapse')
  expect(await told()).not.toContainEqual(expect.stringContaining('poison'))
  await crash('lapse')
  expect(await told()).toContainEqual('message "poison" of topic "t" was in hand in 3 of 3 crashes')
  await crash('dead')
  expect(await queue.why('poison')).toMatchObject({ kind: 'dead', lapses: 4 })
  expect(await told()).toContainEqual('message "poison" of topic "t" was in hand in 4 of 4 crashes')
})
