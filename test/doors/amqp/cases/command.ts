/** `punctual bridge`, the binary. */
import { describe, expect, it } from 'vitest'
import { makePlace } from '../../../cli/punctual.ts'
import type { Broker } from '../broker.ts'
import { World } from '../world.ts'

export function describeCommand(broker: Broker): void {
  describe('the command', () => {
    it('works until told to stop; cancel and get look into the same store', async () => {
      const w = await World.open(broker.url)
      const shell = await makePlace()
      const running = shell.start(['bridge', broker.url, '--queue', w.name, '--from', w.from, '--to', w.to])
      await running.says('connected (in)')
      await w.delayed('goes', 50)
      await w.arrived(1)
      await w.delayed('never', 60_000, { messageId: 'm-1' })
      await w.ask({ do: 'get', id: 'm-1' })
      const { stdout } = await shell.run(['get', 'm-1', '--queue', w.name, '--json'])
      expect(JSON.parse(stdout)).toMatchObject({ topic: w.from, payload: { text: 'never', key: 'some.key' } })
      expect(await shell.run(['cancel', 'm-1', '--queue', w.name])).toMatchObject({ code: 0 })
      expect(await w.ask({ do: 'get', id: 'm-1' })).toEqual({ id: 'm-1', result: 'missing' })
      running.signal('SIGTERM')
      expect(await running.ended).toMatchObject({ code: 0, stderr: '' })
    })

    it('examines with --doctor, and says in one line what it was not told well', async () => {
      const w = await World.open(broker.url)
      const shell = await makePlace()
      const route = ['--queue', w.name, '--from', w.from, '--to']
      const fine = await shell.run(['bridge', broker.url, ...route, w.to, '--doctor'])
      expect(fine).toMatchObject({ code: 0, stderr: '' })
      expect(fine.stdout).toContain('does not exist yet')
      expect(await shell.run(['bridge', broker.url, ...route, 'nowhere', '--doctor'])).toMatchObject({
        code: 1,
      })
      const uneven = await shell.run(['bridge', broker.url, '--from', 'a', '--from', 'b', '--to', 'c'])
      expect(uneven).toMatchObject({ code: 2 })
      expect(uneven.stderr).toContain('as many --to as --from')
      const wrong = await shell.run(['bridge', 'redis://localhost'])
      expect(wrong).toMatchObject({ code: 2 })
      expect(wrong.stderr).toContain('amqp://localhost:5672/vhost')
    })
  })
}
