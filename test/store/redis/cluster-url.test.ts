import { describe, expect, it } from 'vitest'
import { describeCluster, parseClusterUrl } from '../../../src/store/redis/address/cluster-url.ts'

describe('redis+cluster://', () => {
  it('names nodes, a login and the number of partitions', () => {
    expect(
      parseClusterUrl('redis+cluster://user:p%40ss@a:7000,b,[::1]:7002?partitions=64&callTimeout=2s'),
    ).toEqual({
      seeds: [
        { host: 'a', port: 7000 },
        { host: 'b', port: 6379 },
        { host: '::1', port: 7002 },
      ],
      node: { database: 0, username: 'user', password: 'p@ss' },
      partitions: 64,
      settings: { callTimeout: 2_000 },
    })
  })

  it('has 16 partitions unless told otherwise, and TLS with rediss', () => {
    const { node, partitions } = parseClusterUrl('rediss+cluster://a/0?tlsCa=ca.pem')
    expect([partitions, node.tls]).toEqual([16, { ca: 'ca.pem' }])
  })

  it.each([
    ['redis+cluster://a?partitions=0', 'partitions'],
    ['redis+cluster://a?partitions=1025', 'partitions'],
    ['redis+cluster://a?partitions=x', 'partitions'],
    ['redis+cluster://a/1', 'one database'],
    ['redis+cluster://a:99999', 'is no node'],
    ['redis+cluster://', 'is no node'],
    ['redis+cluster://a?sentinelPassword=x', 'redis+sentinel'],
    ['redis+cluster://a@b@c', '%40'],
  ])('%s is refused', (url, what) => {
    expect(() => parseClusterUrl(url)).toThrow(what)
  })

  it('is shown without its password', () => {
    expect(describeCluster(parseClusterUrl('redis+cluster://user:secret@a,b'))).toBe(
      'redis+cluster://a:6379,b:6379',
    )
  })
})
