import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { Punctual } from '../../../src/index.ts'
import { readTimeouts } from '../../../src/store/shared/url-options.ts'
import { describeAddress, parseRedisUrl } from '../../../src/store/redis/address/url.ts'

describe('a Redis URL', () => {
  test('names host, port, database, user and password', () => {
    expect(parseRedisUrl('redis://us%40er:p%2Fw@example.com:7000/5')).toEqual({
      address: { host: 'example.com', port: 7000, database: 5, username: 'us@er', password: 'p/w' },
      settings: {},
    })
  })

  test('has defaults for everything', () => {
    expect(parseRedisUrl('redis://').address).toEqual({ host: 'localhost', port: 6379, database: 0 })
  })

  test('takes IPv6 addresses', () => {
    const { address } = parseRedisUrl('redis://[::1]:7000')
    expect(address.host).toBe('::1')
    expect(describeAddress(address)).toBe('redis://[::1]:7000')
  })

  test('carries timeouts as durations or milliseconds', () => {
    const { settings } = parseRedisUrl('redis://h?callTimeout=2s&connectTimeout=300')
    expect(readTimeouts(settings)).toEqual({ callTimeoutMs: 2000, connectTimeoutMs: 300 })
  })

  test('rediss carries TLS files', () => {
    expect(parseRedisUrl('rediss://h?tlsCa=/a&tlsCert=/b&tlsKey=/c&tlsServername=n').address.tls).toEqual({
      ca: '/a',
      cert: '/b',
      key: '/c',
      servername: 'n',
    })
  })

  test.each([
    ['redis://h?retries=5', 'OPTION_UNKNOWN'],
    ['redis://h?tlsCa=/a', 'OPTION_UNKNOWN'],
    ['redis://h?callTimeout=soon', 'DURATION_INVALID'],
    ['redis://h?callTimeout=1ms', 'OPTION_INVALID'],
    ['redis://h/queue', 'STORE_URL_INVALID'],
    ['http://h', 'STORE_URL_INVALID'],
    ['redis', 'STORE_URL_INVALID'],
  ])('%s is refused with %s', (url, code) => {
    expect(() => parseRedisUrl(url)).toThrow(expect.objectContaining({ code, name: 'UsageError' }) as Error)
  })

  test('a password never appears in the message', () => {
    expect(() => parseRedisUrl('http://user:hunter2@h/x')).toThrow(/^(?!.*hunter2)/s)
  })

  test.each([
    'redis+sentinel://user:se/cret@h1/mymaster',
    'redis+sentinel://user:sec?ret@h1/m',
    'redis+sentinel://user:sec#ret@h1/m',
    'redis+sentinel://user:p@s/cret@h1/m',
    'redis+sentinel://h/m?sentinelPassword=cret@&callTimeout=soon',
    'redis://user:se/cret@h1',
    'redis://user:12/cret@h1',
    'redis://user:12?cret@h1',
    'redis://user:12?callTimeout=cret@h1',
    'redis://user:12/3#cret@h1',
    'redis://user:12/3?#cret@h1',
    'redis://user:s /"cret@h1',
    'redis:user:cret@h1',
    'rediss://user:12?tlsCert&cret=x@h1',
    'user:cret@h1',
    'rabbit://user:se/cret@h1',
  ])('a password with signs that end it appears nowhere in the error: %s', async (url) => {
    const error = await failureOf(url)
    expect(error).toMatchObject({ code: 'STORE_URL_INVALID' })
    expect(inspect(error).replace(/\n +at .*/g, '')).not.toMatch('ret')
  })

  test('which sign of a password to write how is said', () => {
    expect(() => parseRedisUrl('redis://user:se/cret@h1')).toThrow(/"redis:\/\/…@h1".*%2F for "\/"/)
  })
})

async function failureOf(store: string): Promise<unknown> {
  try {
    await new Punctual({ store }).stats()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}
