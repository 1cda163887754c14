import { expect, it } from 'vitest'
import { freePort } from '../free-port.ts'

it('a port goes to one asker only, and is none that the system gives to outgoing connections', async () => {
  const ports: number[] = []
  for (let i = 0; i < 500; i += 1) ports.push(await freePort())
  expect(new Set(ports).size).toBe(ports.length)
  expect(Math.max(...ports)).toBeLessThan(32_768)
})
