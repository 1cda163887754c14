import { describe, expect, it } from 'vitest'
import { Punctual } from '../../../src/index.ts'
import { parseMysqlUrl } from '../../../src/store/mysql/address/url.ts'

function make(durability: string): () => Punctual {
  return () => new Punctual({ store: 'mysql://a/b', durability: durability as never })
}

describe('URLs', () => {
  it('are read whole', () => {
    const { address, server, settings } = parseMysqlUrl(
      'mariadb://me:p%40ss%3A@one:3307,[::1]/shop?ssl=true&sslca=/ca.pem&callTimeout=2s&migrate=false',
    )
    expect(address).toEqual({
      hosts: [
        { host: 'one', port: 3307 },
        { host: '::1', port: 3306 },
      ],
      user: 'me',
      password: 'p@ss:',
      database: 'shop',
      ssl: 'true',
      sslca: '/ca.pem',
    })
    expect(server).toBe('mariadb://one:3307,[::1]/shop')
    expect(settings).toEqual({ callTimeout: 2000, migrate: false })
    expect(parseMysqlUrl('mysql:///shop?socketPath=/run/s').address).toMatchObject({
      hosts: [{ host: 'localhost', port: 3306 }],
      user: 'root',
      socketPath: '/run/s',
    })
  })

  it.each([
    ['mysql://localhost', 'STORE_URL_INVALID'],
    ['mysql://me:se@cret@a/b', 'STORE_URL_INVALID'],
    ['mysql://me:%zz@a/b', 'STORE_URL_INVALID'],
    ['mysql://a:b:c/d', 'STORE_URL_INVALID'],
    ['mysql://a/b?ssl=maybe', 'OPTION_INVALID'],
    ['mysql://a/b?migrate=no', 'OPTION_INVALID'],
    ['mysql://a/b?callTimeout=1ms', 'OPTION_INVALID'],
    ['mysql://a/b?schema=x', 'OPTION_UNKNOWN'],
  ])('%s is refused with %s, and without a password', (url, code) => {
    expect(() => parseMysqlUrl(url)).toThrow(expect.objectContaining({ code }))
    expect(() => parseMysqlUrl(url)).not.toThrow(/cret/)
  })

  it('durability: replicated is unsupported, and other words are invalid', () => {
    expect(make('replicated')).toThrow(expect.objectContaining({ code: 'UNSUPPORTED' }))
    expect(make('some')).toThrow(expect.objectContaining({ code: 'OPTION_INVALID' }))
    expect(make('primary')).not.toThrow()
  })
})
