/** Several bridges on one store. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { makePlace } from '../../../cli/punctual.ts'
import { RedisServer } from '../../../store/redis/server.ts'
import { until } from '../../../store/redis/until.ts'
import type { Broker } from '../broker.ts'
import { World } from '../world.ts'

export function describeSeveral(broker: Broker): void {
  describe('several bridges on one Redis', () => {
    it('P2, P3: share the work; one is killed with SIGKILL and the other takes over what it had', async () => {
      const w = await World.open(broker.url)
      const redis = await RedisServer.start()
      onTestFinished(() => redis.stop())
      const shell = await makePlace(redis.url)
      const words = ['bridge', broker.url, '--queue', w.name, '--from', w.from, '--to', w.to, '--lease', '1s']
      const bridges = [shell.start(words), shell.start(words)]
      for (const running of bridges) await running.says('connected (in)')
      const total = 300
      for (let i = 0; i < total; i += 1) {
        await w.delayed(`m${i}`, 200 + (i % 10) * 100, { messageId: `m${i}` })
        if (i === total / 2) bridges[0]?.signal('SIGKILL')
      }
      await until('every message arrives', () => new Set(w.bodies).size === total)
      for (const { lateMs } of w.arrivals) expect(lateMs).toBeGreaterThanOrEqual(0)
      bridges[1]?.signal('SIGTERM')
      expect(await bridges[1]?.ended).toMatchObject({ code: 0 })
    })
  })
}
