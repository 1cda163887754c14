import { describe, expect, test } from 'vitest'
import { readDurability, type Durability } from '../../../src/store/redis/replicated/durability.ts'
import { describeGroup, parseSentinelUrl } from '../../../src/store/redis/address/sentinel-url.ts'
import { parseRedisUrl } from '../../../src/store/redis/address/url.ts'

describe('a Sentinel URL', () => {
  test('names sentinels, the primary, database, user and password', () => {
    expect(
      parseSentinelUrl('redis+sentinel://us%40er:p%2Fw%2C@a:7000,b,c.example:26380/my%20master/5'),
    ).toEqual({
      group: {
        sentinels: [
          { host: 'a', port: 7000, database: 0 },
          { host: 'b', port: 26_379, database: 0 },
          { host: 'c.example', port: 26_380, database: 0 },
        ],
        primaryName: 'my master',
        primary: { database: 5, username: 'us@er', password: 'p/w,' },
      },
      settings: {},
    })
  })

  test('takes a password alone, IPv6 addresses, and no database', () => {
    const { group } = parseSentinelUrl('redis+sentinel://:secret@[::1]:7000,[fe80::1]/m')
    expect(group.primary).toEqual({ database: 0, password: 'secret' })
    expect(group.sentinels.map(({ host, port }) => [host, port])).toEqual([
      ['::1', 7000],
      ['fe80::1', 26_379],
    ])
    expect(describeGroup(group)).toBe('redis+sentinel://[::1]:7000,[fe80::1]:26379/m')
  })

  test('the sentinels have credentials of their own', () => {
    const { group } = parseSentinelUrl('redis+sentinel://:p@a/m?sentinelUsername=u&sentinelPassword=s%26')
    expect(group.sentinels).toEqual([{ host: 'a', port: 26_379, database: 0, username: 'u', password: 's&' }])
    expect(group.primary).toEqual({ database: 0, password: 'p' })
  })

  test('rediss+sentinel is TLS to the sentinels and to the primary', () => {
    const { group } = parseSentinelUrl('rediss+sentinel://a,b/m?tlsCa=/ca')
    expect(group.primary.tls).toEqual({ ca: '/ca' })
    expect(group.sentinels.map(({ tls }) => tls)).toEqual([{ ca: '/ca' }, { ca: '/ca' }])
    expect(describeGroup(group)).toBe('rediss+sentinel://a:26379,b:26379/m')
  })

  test.each([
    ['redis+sentinel://a,b', 'STORE_URL_INVALID'],
    ['redis+sentinel://a,b/', 'STORE_URL_INVALID'],
    ['redis+sentinel:///m', 'STORE_URL_INVALID'],
    ['redis+sentinel://a,,b/m', 'STORE_URL_INVALID'],
    ['redis+sentinel://a:port/m', 'STORE_URL_INVALID'],
    ['redis+sentinel://a:70000/m', 'STORE_URL_INVALID'],
    ['redis+sentinel://a:0/m', 'STORE_URL_INVALID'],
    ['redis+sentinel://::1/m', 'STORE_URL_INVALID'],
    ['redis+sentinel://a b/m', 'STORE_URL_INVALID'],
    ['redis+sentinel://a/m/zero', 'STORE_URL_INVALID'],
    ['redis+sentinel://a/m/0/1', 'STORE_URL_INVALID'],
    ['redis+sentinel://%zz@a/m', 'STORE_URL_INVALID'],
    ['redis+sentinel://a/%zz', 'STORE_URL_INVALID'],
    ['redis+sentinel://a/m#x', 'STORE_URL_INVALID'],
    ['redis+sentinel:a/m', 'STORE_URL_INVALID'],
    [`redis+sentinel://${Array.from({ length: 101 }, () => 'a').join(',')}/m`, 'STORE_URL_INVALID'],
    ['redis+sentinel://a/m?tlsCa=/a', 'OPTION_UNKNOWN'],
    ['redis+sentinel://a/m?quorum=2', 'OPTION_UNKNOWN'],
    ['redis+sentinel://u:p@a,u:p2@b/m', 'STORE_URL_INVALID'],
    ['redis+sentinel://a/m?sentinelUsername=u', 'OPTION_INVALID'],
    ['redis+sentinel://a/m?callTimeout=soon', 'DURATION_INVALID'],
  ])('%s is refused with %s', (url, code) => {
    expect(() => parseSentinelUrl(url)).toThrow(
      expect.objectContaining({ code, name: 'UsageError' }) as Error,
    )
  })

  test.each(['redis+sentinel://u:hunter2@a b/m', 'redis+sentinel://a/?sentinelPassword=hunter2'])(
    'a password never appears in the message: %s',
    (url) => {
      expect(() => parseSentinelUrl(url)).toThrow(/^(?!.*hunter2)/s)
    },
  )

  test('an option of the sentinels may have an @', () => {
    const { group } = parseSentinelUrl('redis+sentinel://a/m?sentinelPassword=x@y')
    expect(group.sentinels[0]?.password).toBe('x@y')
  })

  test('options of the sentinels do not belong to a single server', () => {
    expect(() => parseRedisUrl('redis://h?sentinelPassword=x')).toThrow(/belongs to redis\+sentinel/)
  })
})

function read(url: string): Durability {
  return readDurability(parseRedisUrl(url).settings)
}

describe('durability', () => {
  test('is the primary’s by default', () => {
    expect(read('redis://h')).toEqual({ kind: 'primary' })
    expect(read('redis://h?durability=primary')).toEqual({
      kind: 'primary',
    })
  })

  test('replicated: one replica within a second, or as the URL says', () => {
    expect(read('redis://h?durability=replicated')).toEqual({
      kind: 'replicated',
      replicas: 1,
      timeoutMs: 1000,
    })
    expect(read('redis://h?durability=replicated&replicas=2&replicationTimeout=300ms')).toEqual({
      kind: 'replicated',
      replicas: 2,
      timeoutMs: 300,
    })
  })

  test.each([
    'durability=disk',
    'durability=',
    'replicas=1',
    'replicationTimeout=1s',
    'durability=primary&replicas=1',
    'durability=replicated&replicas=0',
    'durability=replicated&replicas=101',
    'durability=replicated&replicas=two',
    'durability=replicated&replicationTimeout=1ms',
  ])('?%s is refused', (query) => {
    expect(() => read(`redis://h?${query}`)).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID' }) as Error,
    )
  })
})
