import { expect, test, vi } from 'vitest'
import { storeAt } from './stores.ts'

vi.mock('redis', () => {
  throw new Error('Cannot find package "redis"')
})

test('without the package "redis", open says at once what to install', async () => {
  const store = storeAt('redis://127.0.0.1:1')
  await expect(store.open()).rejects.toMatchObject({
    code: 'STORE_CLIENT_MISSING',
    message: expect.stringContaining('npm install redis') as string,
  })
  await store.close()
})
