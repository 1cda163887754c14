import { describe, expect, it } from 'vitest'
import { parsePostgresUrl } from '../../../src/store/postgres/address/url.ts'
import { readTimeouts } from '../../../src/store/shared/url-options.ts'
import { Punctual } from '../../../src/index.ts'

describe('PostgreSQL URLs', () => {
  it('what is ours is taken out, the rest is passed on', () => {
    const { urls, server, settings } = parsePostgresUrl(
      'postgresql://me:p%40ss@db:5433/shop?schema=jobs&sslmode=verify-full&callTimeout=2s&migrate=false',
    )
    expect(urls).toEqual(['postgres://me:p%40ss@db:5433/shop?sslmode=verify-full'])
    expect(server).toBe('postgres://db:5433/shop')
    expect(settings).toEqual({ schema: 'jobs', callTimeout: 2000, migrate: false })
    expect(readTimeouts(settings)).toEqual({ connectTimeoutMs: 5000, callTimeoutMs: 2000 })
  })

  it('several hosts', () => {
    const { urls, server } = parsePostgresUrl('postgres://me@a:1,b:2,c/shop')
    expect(urls).toEqual(['postgres://me@a:1/shop', 'postgres://me@b:2/shop', 'postgres://me@c/shop'])
    expect(server).toBe('postgres://a:1,b:2,c/shop')
  })

  it('a pooler, and where to listen past it', () => {
    const direct = 'postgres://me@db:5432/shop'
    const url = `postgres://me@pool:6432/shop?pooler=transaction&listen=${encodeURIComponent(direct)}`
    expect(parsePostgresUrl(url).settings).toEqual({ pooler: 'transaction', listen: direct })
  })

  it.each([
    ['postgres://a/b?schema=a"b', 'OPTION_INVALID'],
    ['postgres://a/b?schema=', 'OPTION_INVALID'],
    ['postgres://a/b?pooler=session', 'OPTION_INVALID'],
    ['postgres://a/b?durability=maybe', 'OPTION_INVALID'],
    ['postgres://a/b?migrate=no', 'OPTION_INVALID'],
    ['postgres://a/b?callTimeout=1', 'DURATION_INVALID'],
    ['postgres://a/b?shcema=x', 'OPTION_UNKNOWN'],
    ['postgres://a/b?listen=redis://x', 'STORE_URL_INVALID'],
    ['postgres://me:se/cret@a/b', 'STORE_URL_INVALID'],
    ['postgres:a', 'STORE_URL_INVALID'],
  ])('%s is refused with %s, and without a password', (url, code) => {
    try {
      parsePostgresUrl(url)
      expect.unreachable()
    } catch (error) {
      const known = code === 'DURATION_INVALID' ? expect.stringMatching(/DURATION|OPTION|DELAY/) : code
      expect(error).toMatchObject({ code: known })
      expect(String(error)).not.toContain('cret')
    }
  })

  it('migrate is an option of the queue too', () => {
    expect(() => new Punctual({ store: 'postgres://a/b', migrate: 'no' as never })).toThrow(/migrate is "no"/)
    expect(() => new Punctual({ store: 'memory:', migrate: false })).toThrow(/only a postgres or mysql store/)
  })
})
