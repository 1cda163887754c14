/** `run()` in a real process, with real signals. */
import { describe, expect, it } from 'vitest'
import { Child } from './child.ts'

describe('run()', () => {
  it.each(['SIGINT', 'SIGTERM'] as const)(
    'P11: %s lets the running handler end, then the process ends by itself',
    async (signal) => {
      const worker = new Child('signalled.mjs', { payload: 'patient' })
      await worker.said('started')
      worker.signal(signal)
      expect(await worker.exited()).toBe(0)
      expect(worker.lines[1]).toEqual({ ended: 'patient', aborted: false })
      expect((await worker.said('report'))['report']).toMatchObject({ finished: 1, abandoned: 0, errors: [] })
    },
  )

  it('P11: a signal is heard while the store is still being opened', async () => {
    const worker = new Child('opening.mjs', {})
    await worker.said('asked')
    worker.signal('SIGTERM')
    expect((await worker.said('report'))['report']).toMatchObject({ finished: 0, released: 0, abandoned: 0 })
    expect(await worker.exited()).toBe(0)
  })

  it('P11: the same signal twice at once, as a parent process relays it, is one', async () => {
    const worker = new Child('signalled.mjs', { payload: 'patient' })
    await worker.said('started')
    worker.signal('SIGINT')
    await new Promise((resolve) => setTimeout(resolve, 20)) // Else the system makes one of them.
    worker.signal('SIGINT')
    expect(await worker.exited()).toBe(0)
    expect(worker.lines).toContainEqual({ ended: 'patient', aborted: false })
  })

  it('P11: a second signal aborts the handler instead of waiting for it', async () => {
    const worker = new Child('signalled.mjs', { payload: 'stubborn' })
    await worker.said('started')
    worker.signal('SIGTERM')
    worker.signal('SIGINT')
    expect(await worker.exited()).toBe(0)
    expect(worker.lines).toContainEqual({ ended: 'stubborn', aborted: true })
  })
})
